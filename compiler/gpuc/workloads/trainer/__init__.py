"""The kinds of Kubeflow Trainer: TrainJob and its runtimes."""
