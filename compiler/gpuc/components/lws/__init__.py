"""The component LeaderWorkerSet, a controller for groups of pods."""
