"""The kinds of the training operator of Kubeflow."""
