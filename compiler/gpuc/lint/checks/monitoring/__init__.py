"""Checks of ServiceMonitors and PodMonitors."""

from gpuc.lint.checks.monitoring.monitor_targets import findings

__all__ = ["findings"]
