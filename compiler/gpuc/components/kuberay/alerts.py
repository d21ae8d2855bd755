"""The alert that fires when no replica of KubeRay's controller is the leader."""

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, alert
from gpuc.model import Cluster

LEADER = 'leader_election_master_status{name="ray-operator-leader"}'
"""The metric with which each replica shows whether it is the leader. gpuc/components/jobset/alerts.py explains it.

Source: ray-project/kuberay v1.6.2 ray-operator/main.go (LeaderElectionID)
"""


def leader_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields the alert that fires when no replica is the leader.

    If there are no metrics, GpucMetricsMissing fires instead.
    """
    yield alert("GpucKubeRayNoLeader", leader=LEADER, namespace=cluster.components["kuberay"].namespace)
