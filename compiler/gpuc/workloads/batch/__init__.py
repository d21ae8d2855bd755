"""The kinds Job and CronJob of Kubernetes."""
