"""The alert that fires when no replica of the controller of JobSets is the leader."""

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, alert
from gpuc.model import Cluster

LEADER = 'leader_election_master_status{name="6d4f6a47.jobset.x-k8s.io"}'
"""The metric with which each replica shows whether it is the leader. The metric exists as soon as the replica runs.

Other controllers have a metric with the same name, so the name of the lease selects the metric of JobSet.

Source: kubernetes-sigs/jobset v0.12.0 api/config/v1alpha1/defaults.go (DefaultLeaderElectionID);
kubernetes-sigs/controller-runtime v0.24.0 pkg/metrics/leaderelection.go; kubernetes/client-go v0.36.0
tools/leaderelection/leaderelection.go (NewLeaderElector)
"""


def leader_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields the alert that fires when no replica is the leader.

    If there are no metrics, GpucMetricsMissing fires instead.
    """
    yield alert("GpucJobSetNoLeader", leader=LEADER, namespace=cluster.components["jobset"].namespace)
