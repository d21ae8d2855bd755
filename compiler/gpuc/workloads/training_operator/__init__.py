"""The jobs of the Kubeflow Training Operator."""
