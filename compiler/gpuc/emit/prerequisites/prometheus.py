"""Prometheus: its operator, its selection of monitors, and kube-state-metrics."""

from __future__ import annotations

from gpuc.emit.alerts import alerts
from gpuc.emit.alerts.nodes import node_labels
from gpuc.emit.prerequisites.record import Chapter, Prerequisite, kubectl
from gpuc.model import Cluster
from gpuc.spec.platform import Observability

_KINDS = ("servicemonitors", "podmonitors", "prometheusrules")


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about Prometheus; None without the section observability."""
    settings = cluster.spec.observability
    if settings is None:
        return None
    used: set[str] = set().union(*(alert.metrics for alert in alerts(cluster)))
    state_metrics = sorted(metric for metric in used if metric.startswith("kube_"))
    values = {"node_labels": _labels(cluster), "state_metrics": state_metrics}
    return Chapter("Prometheus", "prometheus.md.j2", _prerequisites(cluster, settings), values)


def _labels(cluster: Cluster) -> str:
    return ",".join(node_labels(cluster))


def _selector(settings: Observability) -> str:
    """Returns the labels of the pods that scrape metrics, which policies of tenants admit."""
    return ",".join(f"{key}={value}" for key, value in settings.prometheus.pods.items())


def _prerequisites(cluster: Cluster, settings: Observability) -> tuple[Prerequisite, ...]:
    program, release, labels = kubectl(cluster), settings.prometheus.release, _labels(cluster)
    definitions = " ".join(f"{kind}.monitoring.coreos.com" for kind in _KINDS)
    return (
        Prerequisite(
            id="definition/monitoring.coreos.com",
            what="the definitions of the Prometheus operator",
            reason=f"without the definitions, the Application {cluster.name}-monitoring fails",
            checks=(f"{program} get crd {definitions}",),
            expected="all three definitions",
            path=("spec", "observability"),
        ),
        Prerequisite(
            id=f"namespace/{settings.namespace}",
            what=f"the namespace `{settings.namespace}`",
            reason="the monitors and the alert rules are in the namespace of Prometheus",
            checks=(f"{program} get namespace {settings.namespace}",),
            expected=settings.namespace,
            path=("spec", "observability", "namespace"),
        ),
        Prerequisite(
            id=f"prometheus/{release}",
            what=f"a Prometheus in namespace `{settings.namespace}` that selects the label `release: {release}`",
            reason="without the Prometheus, nothing evaluates the alerts",
            checks=(f"{program} -n {settings.namespace} get pods -l {_selector(settings)}",),
            expected="a ready pod that scrapes metrics",
            path=("spec", "observability", "prometheus"),
        ),
        Prerequisite(
            id="kube-state-metrics",
            what=f"kube-state-metrics with the node labels {labels}",
            reason="without the labels, alerts about node pools cannot fire",
            checks=(
                f"{program} get deployments -A -l app.kubernetes.io/name=kube-state-metrics "
                "-o jsonpath='{.items[*].spec.template.spec.containers[*].args}'",
            ),
            expected=f"--metric-labels-allowlist=nodes=[{labels}]",
            path=("spec", "observability"),
        ),
    )
