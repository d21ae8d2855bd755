"""The alert for a controller of Ray clusters without a leader."""

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, alert
from gpuc.model import Cluster

LEADER = 'leader_election_master_status{name="ray-operator-leader"}'
"""The metric of each replica that shows whether the replica leads, as for JobSet.

Source: ray-project/kuberay v1.6.2 ray-operator/main.go (LeaderElectionID)
"""


def leader_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields the alert for replicas of which none leads. Without metrics, GpucMetricsMissing fires."""
    yield alert("GpucKubeRayNoLeader", leader=LEADER, namespace=cluster.components["kuberay"].namespace)
