"""Constraints that refuse every pod with a resource of a queue, in the namespaces of its LocalQueues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.amounts import Amounts, quantity_text
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.policies import PARAMETERS, PolicyViolation, violations
from gpuc.trace.quota import Node
from gpuc.trace.workload import PodSet, Workload

REFUSED = declare_rule(
    "SCD008", Severity.ERROR, "A constraint refuses every pod that requests a resource of a queue.",
    "The namespace can never use the queue's quota for the resource, because admission denies the pods.",
    "gatekeeper v3.23.0 website/docs/howto.md; the policies of gpuc, policies",
)  # fmt: skip
WARNED = declare_rule(
    "SCD009", Severity.WARNING, "A constraint warns about every pod that requests a resource of a queue.",
    "Users get a warning when they use the quota of their queue. If enforced, the constraint would refuse these pods.",
    "gatekeeper v3.23.0 website/docs/violations.md (warn enforcement action)",
)  # fmt: skip
_POOL = "gpuc.dev/pool"
_PERMITTING = {
    "GpucGpuLimits": "limits",
    "GpucGpuResources": "resources",
    "GpucPoolSelector": "pools",
    "GpucQueueRequired": "queues",
}
"""The parameter that permits pods, by the constraint's kind."""
Smallest = Mapping[str, tuple[Manifest, dict[str, Amounts]]]
"""By flavor: its object, and the smallest pod that requests each resource of which the queue can have any."""


class _Refusal(NamedTuple):
    """A resource of a flavor that a constraint refuses to the pods of a namespace."""

    resource: str
    flavor: str
    local: Manifest
    violation: PolicyViolation


def policy_conflicts(cluster: ClusterIndex, queue: Node, smallest: Smallest) -> Iterator[ObjectFinding]:
    """Constraints that the smallest pod of a resource violates; one finding for each constraint."""
    by_constraint: dict[int, list[_Refusal]] = {}
    for local in cluster.local_queues.get(queue.name, ()):
        for flavor, pods in smallest.values():
            for resource, pod in pods.items():
                for violation in _violations(cluster, local, flavor, pod):
                    found = _Refusal(resource, flavor.name, local, violation)
                    by_constraint.setdefault(id(violation.manifest), []).append(found)
    for refused in by_constraint.values():
        violation = refused[0].violation
        rule = REFUSED if violation.is_denied else WARNED
        yield ObjectFinding(rule, violation.manifest, _path(violation.manifest), _message(queue, refused))


def _violations(cluster: ClusterIndex, local: Manifest, flavor: Manifest, pod: Amounts) -> list[PolicyViolation]:
    """Violations of a pod; empty if it has none with, or none without, the node selector of the flavor's pool."""
    asked = {name: quantity_text(name, count) for name, count in pod.items()}
    container = {"resources": {"requests": asked, "limits": asked}}
    pool = dig(flavor.body, "spec", "nodeLabels", _POOL)
    choices: list[dict[str, Any]] = [{}, {"nodeSelector": {_POOL: pool}}] if isinstance(pool, str) else [{}]
    found: list[PolicyViolation] = []
    for choice in choices:
        work = Workload((PodSet({"containers": [container], **choice}),), local.namespace, local.name)
        found = list(violations(cluster, work))
        if not found:
            break
    return [violation for violation in found if violation.is_denied] or found


def _path(manifest: Manifest) -> Path:
    """The path of the parameter that permits pods, where the constraint has it."""
    key = _PERMITTING.get(manifest.kind, "")
    return (*PARAMETERS, key) if dig(manifest.body, *PARAMETERS, key) is not None else PARAMETERS


def _message(queue: Node, refused: list[_Refusal]) -> str:
    resources = ", ".join(dict.fromkeys(refusal.resource or "cpu and memory" for refusal in refused))
    flavors = ", ".join(dict.fromkeys(refusal.flavor for refusal in refused))
    spaces = ", ".join(dict.fromkeys(refusal.local.namespace for refusal in refused))
    violation = refused[0].violation
    result = "is refused" if violation.is_denied else "gets a warning"
    provided = f"ClusterQueue {queue.name} provides {spaces} with {resources} of flavor {flavors}"
    return f"{provided}, and every pod that requests it {result}: {violation.message}"
