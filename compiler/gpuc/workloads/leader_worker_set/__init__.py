"""LeaderWorkerSet."""
