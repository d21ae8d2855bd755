"""LeaderWorkerSets."""
