"""Pools: how capacity is bought, where it stands and how long it lasts."""
