"""The component Kubeflow Trainer, the controller of TrainJobs."""
