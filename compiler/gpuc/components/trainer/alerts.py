"""The alert for a controller of TrainJobs without a leader."""

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, alert
from gpuc.model import Cluster

LEADER = 'leader_election_master_status{name="trainer.kubeflow.org"}'
"""The metric of each replica that shows whether the replica leads, as for JobSet.

Source: kubeflow/trainer v2.3.0 charts/kubeflow-trainer/values.yaml (leaderElection.resourceName)
"""


def leader_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields the alert for replicas of which none leads. Without metrics, GpucMetricsMissing fires."""
    yield alert("GpucTrainerNoLeader", leader=LEADER, namespace=cluster.components["trainer"].namespace)
