"""Checks of ServiceMonitors and PodMonitors."""
