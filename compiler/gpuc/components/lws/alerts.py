"""The alert for a controller of LeaderWorkerSets without a leader."""

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, alert
from gpuc.model import Cluster

LEADER = 'leader_election_master_status{name="b8b2488c.x-k8s.io"}'
"""The metric of each replica that shows whether the replica leads, as for JobSet.

Source: kubernetes-sigs/lws v0.9.0 api/config/v1alpha1/defaults.go (DefaultLeaderElectionID)
"""


def leader_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields the alert for replicas of which none leads. Without metrics, GpucMetricsMissing fires."""
    yield alert("GpucLeaderWorkerSetNoLeader", leader=LEADER, namespace=cluster.components["lws"].namespace)
