"""What a queue gives out and an admission policy of the same tree refuses: each resource in each namespace."""

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

SHUT_OUT = declare_rule(
    "SCD008", Severity.ERROR, "A constraint refuses every pod that asks for a resource of a queue.",
    "The queue's quota of it is there for the namespace, and nobody in it can ever use any: admission denies the pods.",
    "gatekeeper v3.23.0 website/docs/howto.md; the policies of gpuc, policies",
)  # fmt: skip
TOLD_OFF = declare_rule(
    "SCD009", Severity.WARNING, "A constraint warns of every pod that asks for a resource of a queue.",
    "Whoever uses what the queue gives is told that it is wrong; enforced, the constraint would refuse all of it.",
    "gatekeeper v3.23.0 website/docs/violations.md (warn enforcement action)",
)  # fmt: skip
_POOL = "gpuc.dev/pool"
_LISTS = {
    "GpucGpuLimits": "limits",
    "GpucGpuResources": "resources",
    "GpucPoolSelector": "pools",
    "GpucQueueRequired": "queues",
}
"""The parameter that lets pods through, by the kind of the constraint."""
Smallest = Mapping[str, tuple[Manifest, dict[str, Amounts]]]
"""By flavor, its object and the smallest pod that asks for each resource of which the queue can have any."""


class _Refusal(NamedTuple):
    """A resource of a flavor that a constraint keeps from the pods of a namespace."""

    resource: str
    flavor: str
    local: Manifest
    breach: PolicyViolation


def shut_out(site: ClusterIndex, queue: Node, smallest: Smallest) -> Iterator[ObjectFinding]:
    """Constraints against the smallest pod of a resource, each told once with all that it is against."""
    told: dict[int, list[_Refusal]] = {}
    for local in site.local_queues.get(queue.name, ()):
        for flavor, pods in smallest.values():
            for resource, pod in pods.items():
                for breach in _against(site, local, flavor, pod):
                    found = _Refusal(resource, flavor.name, local, breach)
                    told.setdefault(id(breach.manifest), []).append(found)
    for refused in told.values():
        breach = refused[0].breach
        rule = SHUT_OUT if breach.is_denied else TOLD_OFF
        yield ObjectFinding(rule, breach.manifest, _path(breach.manifest), _message(queue, refused))


def _against(site: ClusterIndex, local: Manifest, flavor: Manifest, pod: Amounts) -> list[PolicyViolation]:
    """What speaks against a pod both as it is and with the label of the flavor's pool; nothing where one gets by."""
    asked = {name: quantity_text(name, count) for name, count in pod.items()}
    container = {"resources": {"requests": asked, "limits": asked}}
    pool = dig(flavor.body, "spec", "nodeLabels", _POOL)
    choices: list[dict[str, Any]] = [{}, {"nodeSelector": {_POOL: pool}}] if isinstance(pool, str) else [{}]
    found: list[PolicyViolation] = []
    for choice in choices:
        work = Workload((PodSet({"containers": [container], **choice}),), local.namespace, local.name)
        found = list(violations(site, work))
        if not found:
            break
    return [each for each in found if each.is_denied] or found


def _path(manifest: Manifest) -> Path:
    """The list that lets pods through, where the constraint has one."""
    key = _LISTS.get(manifest.kind, "")
    return (*PARAMETERS, key) if dig(manifest.body, *PARAMETERS, key) is not None else PARAMETERS


def _message(queue: Node, refused: list[_Refusal]) -> str:
    resources = ", ".join(dict.fromkeys(each.resource or "cpu and memory" for each in refused))
    flavors = ", ".join(dict.fromkeys(each.flavor for each in refused))
    spaces = ", ".join(dict.fromkeys(each.local.namespace for each in refused))
    breach = refused[0].breach
    what = "is refused" if breach.is_denied else "is warned of"
    given = f"ClusterQueue {queue.name} gives {spaces} {resources} of flavor {flavors}"
    return f"{given}, and every pod that asks for it {what}: {breach.message}"
