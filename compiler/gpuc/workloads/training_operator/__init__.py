"""The jobs of the Kubeflow Training Operator, for example PyTorchJob."""
