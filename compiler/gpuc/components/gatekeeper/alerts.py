"""Alerts for policies that Gatekeeper cannot enforce because of an error, and for an audit that runs too late."""

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, alert
from gpuc.model import Cluster

AUDIT_SECONDS = 300
"""The time between two audits. The chart's 60 s are shorter than one audit of a large cluster."""
LATE_SECONDS = 6 * AUDIT_SECONDS
"""An audit is late if the last one ended so long ago. One audit may last as long as the time between two audits."""


def policy_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for policies that Gatekeeper cannot enforce, and for an audit of Gatekeeper that runs too late."""
    yield alert("GpucPolicyBroken")
    yield alert(
        "GpucAuditLate",
        ended="gatekeeper_audit_last_run_end_time",
        seconds=LATE_SECONDS,
        late_minutes=LATE_SECONDS // 60,
        namespace=cluster.components["gatekeeper"].namespace,
    )
