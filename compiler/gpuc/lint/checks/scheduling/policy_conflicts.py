"""Gatekeeper constraints that refuse every pod with a resource of a ClusterQueue, in namespaces of its LocalQueues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.amounts import Amounts, quantity_text
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.kueue_scope import managed_kind
from gpuc.trace.policies import PARAMETERS, PolicyViolation, violations
from gpuc.trace.quota import Node
from gpuc.trace.workload import PodSet, Workload

REFUSED = declare_rule(
    "SCD008", Severity.ERROR, "A constraint refuses every pod that requests a resource of a ClusterQueue.",
    "The namespace can never use the ClusterQueue's quota for the resource, because admission denies the pods.",
    "gatekeeper v3.23.0 website/docs/howto.md; the policies of gpuc, policies",
)  # fmt: skip
WARNED = declare_rule(
    "SCD009", Severity.WARNING, "A constraint warns about every pod that requests a resource of a ClusterQueue.",
    "Users get a warning when they use their quota. If enforced, the constraint would refuse these pods.",
    "gatekeeper v3.23.0 website/docs/violations.md (warn enforcement action)",
)  # fmt: skip
_POOL = "gpuc.dev/pool"
_PERMITTING = {
    "GpucGpuLimits": "limits",
    "GpucGpuResources": "resources",
    "GpucPoolSelector": "pools",
    "GpucQueueRequired": "queues",
}
"""The parameter of a constraint that permits pods, by the kind of the constraint."""
Smallest = Mapping[str, tuple[Manifest, dict[str, Amounts]]]
"""By flavor: the ResourceFlavor, and by resource the smallest pod that requests the resource."""


class _Refusal(NamedTuple):
    """A resource of a flavor that no pod of a LocalQueue's namespace can request, because a constraint is violated."""

    resource: str
    flavor: str
    local: Manifest
    violation: PolicyViolation


def policy_conflicts(cluster: ClusterIndex, queue: Node, smallest: Smallest) -> Iterator[ObjectFinding]:
    """Yields one finding for every constraint that the smallest pod of a resource violates."""
    by_constraint: dict[int, list[_Refusal]] = {}
    for local in cluster.local_queues.get(queue.name, ()):
        for flavor, pods in smallest.values():
            for resource, pod in pods.items():
                for violation in _violations(cluster, local, flavor, pod):
                    refusal = _Refusal(resource, flavor.name, local, violation)
                    by_constraint.setdefault(id(violation.manifest), []).append(refusal)
    for refusals in by_constraint.values():
        violation = refusals[0].violation
        rule = REFUSED if violation.is_denied else WARNED
        yield ObjectFinding(rule, violation.manifest, _path(violation.manifest), _message(queue, refusals))


def _violations(cluster: ClusterIndex, local: Manifest, flavor: Manifest, pod: Amounts) -> list[PolicyViolation]:
    """Returns the violations of a pod. If some violations are denied, the list has only these violations.

    The list is empty if the pod without a node selector, or the pod that selects the flavor's node pool, has none.
    """
    requests = {name: quantity_text(name, count) for name, count in pod.items()}
    container = {"resources": {"requests": requests, "limits": requests}}
    pool = dig(flavor.body, "spec", "nodeLabels", _POOL)
    choices: list[dict[str, Any]] = [{}, {"nodeSelector": {_POOL: pool}}] if isinstance(pool, str) else [{}]
    found: list[PolicyViolation] = []
    kind = managed_kind(cluster)
    for choice in choices:
        work = Workload((PodSet({"containers": [container], **choice}),), local.namespace, local.name, *kind)
        found = list(violations(cluster, work))
        if not found:
            break
    return [violation for violation in found if violation.is_denied] or found


def _path(manifest: Manifest) -> Path:
    """Returns the path of the parameter that permits pods; the path of all parameters if the parameter is missing."""
    key = _PERMITTING.get(manifest.kind, "")
    return (*PARAMETERS, key) if dig(manifest.body, *PARAMETERS, key) is not None else PARAMETERS


def _message(queue: Node, refusals: list[_Refusal]) -> str:
    resources = ", ".join(dict.fromkeys(refusal.resource or "cpu and memory" for refusal in refusals))
    flavors = ", ".join(dict.fromkeys(refusal.flavor for refusal in refusals))
    namespaces = ", ".join(dict.fromkeys(refusal.local.namespace for refusal in refusals))
    violation = refusals[0].violation
    result = "is refused" if violation.is_denied else "gets a warning"
    provided = f"ClusterQueue {queue.name} gives namespace {namespaces} quota for {resources} of flavor {flavors}"
    return f"{provided}, but every pod that requests {resources} {result}: {violation.message}"
