"""Objects of the Prometheus operator: monitors that can find nothing."""

from gpuc.lint.checks.monitoring.watched import blind as findings

__all__ = ["findings"]
