"""Rules for training runtimes: their pools, queues and checkpoints."""
