"""The alert that fires when no replica of the controller of TrainJobs is the leader."""

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, alert
from gpuc.model import Cluster

LEADER = 'leader_election_master_status{name="trainer.kubeflow.org"}'
"""The metric with which each replica shows whether it is the leader. gpuc/components/jobset/alerts.py explains it.

Source: kubeflow/trainer v2.3.0 charts/kubeflow-trainer/values.yaml (leaderElection.resourceName)
"""


def leader_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields the alert that fires when no replica is the leader.

    If there are no metrics, GpucMetricsMissing fires instead.
    """
    yield alert("GpucTrainerNoLeader", leader=LEADER, namespace=cluster.components["trainer"].namespace)
