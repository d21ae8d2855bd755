"""Changes of jobs and servers that Kueue's webhooks refuse if the object has a queue.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/validation.go (ValidateJobOnUpdate,
ValidateUpdateForWorkloadPriorityClassName, ValidateImmutablePodGroupPodSpec), pkg/controller/jobs (ValidateUpdate of
each kind), pkg/util/pod/pod.go (SpecShape), pkg/util/webhook/validation_admissiongatedby.go; feature gates with their
defaults in pkg/features/kube_features.go
"""

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.admission.validation.changes import ChangedObject
from gpuc.admission.validation.kueue import ANNOTATIONS, ELASTIC, GATED_BY, LABELS, MAX_SECONDS, PREBUILT
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import MIN_PARALLELISM, POD, PRIORITY_LABEL, QUEUE_LABEL
from gpuc.parts.workload_kind import WorkloadKind

_QUEUE: Path = (*LABELS, QUEUE_LABEL)
_SUSPEND: tuple[Path, ...] = (
    ("spec", "suspend"), ("spec", "runPolicy", "suspend"), ("spec", "rayClusterConfig", "suspend"),
)  # fmt: skip
"""The fields with which Kueue suspends a job of one kind or another."""
_SHAPE = (
    "nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority", "topologySpreadConstraints", "overhead",
    "resourceClaims", "resources",
)  # fmt: skip
"""The fields of a pod that decide about its quota and its nodes; in containers, the requests and the ports."""


class Refused(NamedTuple):
    """A changed field that a webhook of Kueue refuses."""

    path: Path
    reason: str
    when: str = ""
    """When the webhook refuses the change, for example "while a pod is ready"; empty for always."""


def refused_by_kueue(record: WorkloadKind, changed: ChangedObject) -> Iterator[Refused]:
    """Yields the changed fields that Kueue refuses; nothing for an object without a queue.

    Args:
        record: what gpuc knows about the kind of the object.
    """
    before, after = changed.values(*_QUEUE)
    if LABELS not in record.queueing.labels or not record.queueing.framework or not (before or after):
        return
    is_server = record.queueing.holds_pods and record.queueing.framework != POD
    runs = "while a pod is ready" if is_server else "while it is not suspended"
    is_suspended = any(changed.values(*path)[1] is True for path in _SUSPEND) and not is_server
    yield from (row for row in _labels(changed, runs, is_server=is_server) if not (row.when and is_suspended))
    if after:
        yield from _shapes(record, changed)
    parallelism, minimum = changed.values("spec", "parallelism"), changed.values(*ANNOTATIONS, MIN_PARALLELISM)
    if minimum[0] is not None and parallelism[0] != parallelism[1] and not is_suspended:
        yield Refused(("spec", "parallelism"), "a Job with partial admission keeps its parallelism", runs)


def _labels(changed: ChangedObject, runs: str, *, is_server: bool) -> Iterator[Refused]:
    for label in (QUEUE_LABEL, PRIORITY_LABEL, *(() if is_server else (MAX_SECONDS, PREBUILT))):
        path = (*LABELS, label)
        before, after = (value or "" for value in changed.values(*path))
        if before == after or (label == PRIORITY_LABEL and before and after):
            continue
        is_kept = not after and (label == PRIORITY_LABEL or (label == QUEUE_LABEL and is_server))
        verb = "removed" if not after else "changed" if before else "added"
        yield Refused(path, f"the label {label} cannot be {verb}", "" if is_kept else runs)
    gates, elastic = (*ANNOTATIONS, GATED_BY), (*ANNOTATIONS, ELASTIC)
    before, after = ({*str(value or "").split(",")} - {""} for value in changed.values(*gates))
    if after - before:
        yield Refused(gates, f"gates cannot be added to the annotation {GATED_BY}")
    was_elastic, is_elastic = (value == "true" for value in changed.values(*elastic))
    if was_elastic != is_elastic and not is_server:
        yield Refused(elastic, f"the annotation {ELASTIC} is immutable")


def _shapes(record: WorkloadKind, changed: ChangedObject) -> Iterator[Refused]:
    """Yields the changed fields of pod groups and their numbers of pods that Kueue has reserved quota for."""
    if not record.queueing.is_pod_group:
        return
    kind, templates = record.kind, [tuple(template.split(".")) for template in record.templates]
    for template in templates:
        before, after = changed.values(*template)
        for field in changed.fields:
            inner = field.path[len(template) :]
            is_new = field.is_below(*template) and not inner and None in (before, after)
            if is_new or (field.is_below(*template, "spec") and _is_shape(changed, field.path, inner[1:])):
                yield Refused(field.path, f"a {kind} with a queue keeps the requests and the nodes of its pods")
    is_fixed = record.queueing.is_per_replica  # the group is a replica, and not the object
    path = (*templates[0][:-1], "size") if is_fixed else ("spec", "replicas")
    old, new = (1 if value is None else value for value in changed.values(*path))
    if old != new and (is_fixed or 0 not in (old, new)):
        allowed = "" if is_fixed else ", except from and to 0"
        yield Refused(path, f"a {kind} with a queue keeps {'.'.join(map(str, path))}{allowed}")


def _is_shape(changed: ChangedObject, path: Path, inner: Path) -> bool:
    """Returns whether a field belongs to the shape of a pod. A limit without a request also counts as the request."""
    if not inner or inner[0] not in ("containers", "initContainers"):
        return not inner or inner[0] in _SHAPE
    if len(inner) < 3 or inner[2] == "ports" or inner[2:] == ("resources",):
        return True
    if inner[2] != "resources":
        return False
    requests = changed.values(*path[: len(path) - len(inner) + 3], "requests", *inner[4:5])
    return inner[3] == "requests" or (inner[3] == "limits" and None in requests)
