"""The cluster's entry: what a person applies once, and everything that has to exist around it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.catalog.records import Release
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.emit.template import environment
from gpuc.kubernetes.kueue import LEVEL_LABELS
from gpuc.manifest.manifest import Artifact, Text
from gpuc.model import Cluster, Pool

if TYPE_CHECKING:
    from jinja2 import Environment

ORIGIN: SpecPath = ("spec", "delivery")

CONTROLLERS = {
    "jobset.x-k8s.io/jobset": "JobSet",
    "trainer.kubeflow.org/trainjob": "Kubeflow Trainer",
    "kubeflow.org/mpijob": "the MPI operator",
    "ray.io/rayjob": "KubeRay",
    "ray.io/raycluster": "KubeRay",
    "leaderworkerset.x-k8s.io/leaderworkerset": "LeaderWorkerSet",
}
"""Who runs the kinds of jobs that Kubernetes does not have itself, by Kueue's name of the kind."""


def entry(cluster: Cluster, components: tuple[Release, ...]) -> Iterator[Artifact]:
    """The README of the cluster, and the health checks as values of Argo CD's own chart."""
    texts = {
        "README.md": _render("readme.md.j2", **_facts(cluster, components)),
        "argocd-health.yaml": _render("argocd-health.yaml.j2", gpus=bool(cluster.gpu_pools)),
    }
    for file, text in texts.items():
        yield Text(cluster.entry(file), ORIGIN, text)


def _facts(cluster: Cluster, components: tuple[Release, ...]) -> dict[str, object]:
    frameworks = cluster.spec.kueue.frameworks
    delivery = cluster.spec.delivery
    is_hub = not delivery.destination.is_own_cluster
    return {
        "cluster": cluster,
        "spec": cluster.spec,
        "aws": cluster.aws,
        "destination": delivery.destination.server or delivery.destination.name,
        "is_hub": is_hub,
        "hub": 'kubectl --context "$HUB"' if is_hub else "kubectl",
        "kubectl": 'kubectl --context "$WORKLOAD"' if is_hub else "kubectl",
        "helm_context": ' --kube-context "$HUB"' if is_hub else "",
        "argocd": delivery.destination.namespace,
        "tree": f"{delivery.path}/{cluster.name}",
        "components": components,
        "karpenter": cluster.components["karpenter"],
        "controllers": list(dict.fromkeys(CONTROLLERS[kind] for kind in frameworks if kind in CONTROLLERS)),
        "reserved": [pool for pool in cluster.pools if pool.spec.reservations],
        "placed": [pool for pool in cluster.pools if pool.spec.placement],
        "gated": [pool for pool in cluster.gpu_pools if pool.mig_by_operator],
        "isolates": any(tenant.isolates_network for tenant in cluster.tenants),
        "callers": sorted({each.namespace for tenant in cluster.tenants for each in tenant.spec.network.ingress}),
        "uses_spot": any("spot" in pool.spec.purchase for pool in cluster.pools),
        "node_labels": ",".join(_node_labels(cluster)),
        "family": _family,
        "block_label": LEVEL_LABELS["block"],
        "by_block": [pool for pool in cluster.pools if "block" in (pool.spec.topology or ())],
    }


def _node_labels(cluster: Cluster) -> list[str]:
    """Labels of nodes that alerts ask kube-state-metrics for."""
    labels = ["gpuc.dev/pool"]
    if any(len(pool.instances) > 1 for pool in cluster.gpu_pools):
        labels.append("node.kubernetes.io/instance-type")
    if any(pool.mig_by_operator for pool in cluster.gpu_pools):
        labels.append("nvidia.com/mig.config.state")
    return labels


def _family(pool: Pool) -> str:
    return ", ".join(instance.type for instance in pool.instances)


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    made = environment(Path(__file__).parent)
    made.filters["tags"] = lambda tags: ", ".join(f"`{key}={value}`" for key, value in tags.items())
    made.filters["filters"] = _filters
    return made


def _filters(tags: dict[str, str]) -> str:
    """EC2 tags as filters of the aws command."""
    return " ".join(f"'Name=tag:{key},Values={value}'" for key, value in tags.items())
