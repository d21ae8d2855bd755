"""Bootstrap files of a cluster: the README for the first sync, and the health checks for Argo CD."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.catalog.records import Release
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.emit.controllers import controllers as users_of
from gpuc.emit.pod_deletion import grace_limits
from gpuc.emit.start_limits import manages_pods, pods_ready_minutes
from gpuc.emit.template import environment
from gpuc.emit.workloads import workloads
from gpuc.kubernetes.amounts import MEMORY, quantity_text
from gpuc.kubernetes.duration import format_duration
from gpuc.kubernetes.kueue import LEVEL_LABELS
from gpuc.manifest.manifest import Artifact, Manifest, Text
from gpuc.model import Cluster, Pool
from gpuc.spec.platform import NodeAgent

if TYPE_CHECKING:
    from jinja2 import Environment

ORIGIN: SpecPath = ("spec", "delivery")

CONTROLLERS = {
    "jobset.x-k8s.io/jobset": "JobSet",
    "trainer.kubeflow.org/trainjob": "Kubeflow Trainer",
    "kubeflow.org/mpijob": "the MPI operator",
    "kubeflow.org/pytorchjob": "the Kubeflow Training Operator",
    "ray.io/rayjob": "KubeRay",
    "ray.io/raycluster": "KubeRay",
    "leaderworkerset.x-k8s.io/leaderworkerset": "LeaderWorkerSet",
}
"""Controllers of job kinds that are not part of Kubernetes, by the name of the Kueue integration."""


_WITHOUT_PODS = ("default", "kube-node-lease", "kube-public")
"""Namespaces of Kubernetes in which the platform runs no pods."""

_PREFIX = re.compile(r"[A-Za-z0-9._-]+:")
"""The prefix of a group, for a shell command in the README. Names of groups are free text."""


def bootstrap(cluster: Cluster, components: tuple[Release, ...]) -> Iterator[Artifact]:
    """Yields the README of the cluster, and the health checks as values for the Helm chart of Argo CD."""
    texts = {
        "README.md": _render("readme.md.j2", **_readme_values(cluster, components)),
        "argocd-health.yaml": _render("argocd-health.yaml.j2", gpus=bool(cluster.gpu_pools)),
    }
    for file, text in texts.items():
        yield Text(cluster.entry(file), ORIGIN, text)


def _readme_values(cluster: Cluster, components: tuple[Release, ...]) -> dict[str, object]:
    frameworks = cluster.spec.kueue.frameworks
    delivery = cluster.spec.delivery
    is_hub = not delivery.destination.is_own_cluster
    callers = sorted({caller.namespace for tenant in cluster.tenants for caller in tenant.spec.network.ingress})
    accounts = [name.replace("system:serviceaccount:", "").split(":") for name in users_of(cluster)[1:]]
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
        **_replacement_values(cluster),
        "reserved_in_group": [pool for pool in cluster.pools if pool.spec.placement and _has_plain_reservation(pool)],
        "agents": [_agent(name, agent) for name, agent in cluster.spec.node_agents.items()],
        "group_prefix": _group_prefix(cluster),
        "mps_pools": [pool for pool in cluster.gpu_pools if pool.mps_user is not None],
        "placed": [pool for pool in cluster.pools if pool.spec.placement],
        "platform_namespaces": sorted(
            {*cluster.platform_namespaces, *callers, *(account[0] for account in accounts)} - {*_WITHOUT_PODS}
        ),
        "by_operator": [pool for pool in cluster.gpu_pools if pool.mig_by_operator],
        "reporting": [pool for pool in cluster.gpu_pools if pool.reports_gpus],
        "unchecked": [pool for pool in cluster.gpu_pools if _has_nvswitch(pool) and not pool.reports_gpus],
        "isolates": any(tenant.isolates_network for tenant in cluster.tenants),
        "callers": callers,
        "template_kinds": [kind for kind in ("Job", "Deployment") if kind in _template_kinds(cluster)],
        "uses_spot": any("spot" in pool.spec.purchase for pool in cluster.pools),
        "node_labels": ",".join(_node_labels(cluster)),
        "types": _types,
        "users_of_controllers": [":".join(account) for account in accounts],
        "users": lambda pool: _users(cluster, pool),
        "grace_limits": ", ".join(f"{tenant} {seconds}" for tenant, seconds in grace_limits(cluster).items()),
        "block_label": LEVEL_LABELS["block"],
        "by_block": [pool for pool in cluster.pools if "block" in (pool.spec.topology or ())],
    }


def _has_nvswitch(pool: Pool) -> bool:
    return any(instance.nvswitch for instance in pool.instances)


def _replacement_values(cluster: Cluster) -> dict[str, object]:
    """Returns the values of the sections about reservations, replaced nodes and workloads that do not start."""
    reserved = [pool for pool in cluster.pools if pool.spec.reservations]
    return {
        "reserved": reserved,
        "reserved_only": [pool for pool in reserved if pool.spec.purchase == ["reserved"]],
        "reserved_and_other": [pool for pool in reserved if pool.spec.purchase != ["reserved"]],
        "hours": cluster.spec.working_hours,
        "expiring": [pool for pool in cluster.pools if pool.spec.expire_after],
        "keeps_runs": [pool for pool in cluster.pools if pool.keeps_runs],
        "without_spare": [pool for pool in cluster.pools if pool.is_static and not pool.can_start_spare_node],
        "blocks": [pool for pool in cluster.pools if pool.hold_at],
        "ready_minutes": pods_ready_minutes(cluster),
        "attempts": cluster.spec.kueue.start_attempts,
        "counts_pods": manages_pods(cluster),
        "duration": format_duration,
        "utc": lambda time: f"{time:%Y-%m-%d %H:%M} UTC",
    }


def _agent(name: str, agent: NodeAgent) -> str:
    """Returns the name and the requests of a node agent: "log-agent (cpu 500m, memory 1Gi, all nodes)"."""
    memory = quantity_text(MEMORY, agent.memory)
    return f"{name} (cpu {agent.cpu}, memory {memory}, {agent.nodes} nodes)"


def _has_plain_reservation(pool: Pool) -> bool:
    """Returns whether the pool has capacity reservations that are no capacity blocks.

    EC2 places the instances of a capacity block close together without a placement group.
    """
    return pool.spec.reservations is not None and pool.spec.reservations.block is None


def _group_prefix(cluster: Cluster) -> str:
    """Returns the prefix that all groups of members have, up to the colon; empty if they have no common prefix."""
    groups = [group for tenant in cluster.tenants for group in tenant.spec.members.groups]
    prefixes = {match[0] if (match := _PREFIX.match(group)) else "" for group in groups}
    return prefixes.pop() if len(prefixes) == 1 else ""


def _users(cluster: Cluster, pool: Pool) -> list[str]:
    """Returns the namespaces that can use a pool, with the quota of the namespace if no queue counts the pool."""
    return [
        namespace.name
        for tenant in cluster.tenants
        for namespace in tenant.namespaces
        if any(pool in queue.pools for queue in namespace.queues)
        or any(pool is quota.pool for quota in namespace.quotas)
    ]


def _node_labels(cluster: Cluster) -> list[str]:
    """Returns the node labels that kube-state-metrics must export because alerts use them."""
    labels = ["gpuc.dev/pool"]
    if any(len(pool.instances) > 1 for pool in cluster.gpu_pools):
        labels.append("node.kubernetes.io/instance-type")
    if any(pool.mig_by_operator for pool in cluster.gpu_pools):
        labels.append("nvidia.com/mig.config.state")
    return labels


def _template_kinds(cluster: Cluster) -> set[str]:
    return {template.kind for template in workloads(cluster) if isinstance(template, Manifest)}


def _types(pool: Pool) -> str:
    return ", ".join(instance.type for instance in pool.instances)


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    jinja = environment(Path(__file__).parent)
    jinja.filters["tags"] = lambda tags: ", ".join(f"`{key}={value}`" for key, value in tags.items())
    jinja.filters["filters"] = _filters
    return jinja


def _filters(tags: dict[str, str]) -> str:
    """Formats EC2 tags as filters of the aws command."""
    return " ".join(f"'Name=tag:{key},Values={value}'" for key, value in tags.items())
