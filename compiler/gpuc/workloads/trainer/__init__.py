"""The kinds of Kubeflow Trainer."""
