"""The kind LeaderWorkerSet, groups of pods with a leader."""
