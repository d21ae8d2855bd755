"""The alert that fires when no replica of a controller is the leader."""

from collections.abc import Callable, Iterator

from gpuc.emit.alerts.alert import Alert, alert
from gpuc.model import Cluster


def leader_metric(lease: str) -> str:
    """Returns a PromQL selector of the metric that is 1 for the replica that is the leader, and 0 for other replicas.

    Args:
        lease: the name of the controller's Lease. Other controllers have a metric with the same name, so the selector
            needs the name of the Lease.

    Source: kubernetes-sigs/controller-runtime v0.24.0 pkg/metrics/leaderelection.go; kubernetes/client-go v0.36.0
    tools/leaderelection/leaderelection.go (NewLeaderElector)
    """
    return f'leader_election_master_status{{name="{lease}"}}'


def leader_alerts(name: str, component: str, metric: str) -> Callable[[Cluster], Iterator[Alert]]:
    """Returns a function that yields the alert about a component without a leader.

    If there are no metrics, another alert fires instead: GpucMetricsMissing.

    Args:
        name: the row of alerts.toml in the folder of the component.
        metric: the result of `leader_metric`.
    """

    def alerts(cluster: Cluster) -> Iterator[Alert]:
        yield alert(name, leader=metric, namespace=cluster.components[component].namespace)

    return alerts
