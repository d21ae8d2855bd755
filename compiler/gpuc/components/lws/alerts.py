"""The alert that fires when no replica of the controller of LeaderWorkerSets is the leader."""

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, alert
from gpuc.model import Cluster

LEADER = 'leader_election_master_status{name="b8b2488c.x-k8s.io"}'
"""The metric with which each replica shows whether it is the leader. gpuc/components/jobset/alerts.py explains it.

Source: kubernetes-sigs/lws v0.9.0 api/config/v1alpha1/defaults.go (DefaultLeaderElectionID)
"""


def leader_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields the alert that fires when no replica is the leader.

    If there are no metrics, GpucMetricsMissing fires instead.
    """
    yield alert("GpucLeaderWorkerSetNoLeader", leader=LEADER, namespace=cluster.components["lws"].namespace)
