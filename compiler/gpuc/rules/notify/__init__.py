"""Rules for notifications about alerts: the routes, and the receivers and tenants that the routes name."""
