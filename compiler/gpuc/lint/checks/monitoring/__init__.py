"""Objects of the Prometheus operator: monitors that can find nothing."""

from gpuc.lint.checks.monitoring.watched import blind as flaws

__all__ = ["flaws"]
