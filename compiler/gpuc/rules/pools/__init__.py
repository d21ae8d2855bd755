"""Rules for node pools: purchase, zones, interruptions and static nodes."""
