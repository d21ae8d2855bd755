"""Rules for networks: enforcement of NetworkPolicies, and address ranges that would break the isolation of tenants."""
