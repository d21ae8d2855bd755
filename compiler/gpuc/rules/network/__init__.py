"""Rules for networks: the engine that enforces NetworkPolicies, and address ranges that would break isolation."""
