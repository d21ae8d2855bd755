"""Rules for notifications: routes, and the receivers and tenants that they name."""
