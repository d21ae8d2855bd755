"""Job and CronJob of Kubernetes."""
