"""Rules about values that only one cluster of a fleet may have."""
