"""Node pools: purchase, location and lifetime of capacity."""
