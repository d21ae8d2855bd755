"""The alert for a controller of JobSets without a leader."""

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, alert
from gpuc.model import Cluster

LEADER = 'leader_election_master_status{name="6d4f6a47.jobset.x-k8s.io"}'
"""The metric of each replica that shows whether the replica leads. It exists as soon as the replica runs.

Other controllers have a metric with the same name, so the name of the lease selects the metric of JobSet.

Source: kubernetes-sigs/jobset v0.12.0 api/config/v1alpha1/defaults.go (DefaultLeaderElectionID);
kubernetes-sigs/controller-runtime v0.24.0 pkg/metrics/leaderelection.go; kubernetes/client-go v0.36.0
tools/leaderelection/leaderelection.go (NewLeaderElector)
"""


def leader_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields the alert for replicas of which none leads. Without metrics, GpucMetricsMissing fires."""
    yield alert("GpucJobSetNoLeader", leader=LEADER, namespace=cluster.components["jobset"].namespace)
