"""Annotations of pod templates for Topology Aware Scheduling, and the pod sets of the kinds that Kueue checks.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/tas_validation.go, pkg/controller/jobs (PodSets of
each kind), apis/kueue/v1beta2/topology_types.go
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    count_or_one,
    invalid,
    label_key,
    missing,
    number,
    rows,
    shown,
    text,
)
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import GROUP, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY
from gpuc.kubernetes.pod_template import REPLICA_SPECS
from gpuc.objects.object_set import dig, pairs

LABELS: Path = ("metadata", "labels")
ANNOTATIONS: Path = ("metadata", "annotations")
SLICE_TOPOLOGY = f"{GROUP}/podset-slice-required-topology"
SLICE_SIZE = f"{GROUP}/podset-slice-size"
SLICE_CONSTRAINTS = f"{GROUP}/podset-slice-required-topology-constraints"
GROUP_NAME = f"{GROUP}/podset-group-name"
_MODES = (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY)
BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
"""The texts that Go's strconv.ParseBool reads."""
_INTEGER = re.compile(r"[-+]?[0-9]{1,10}")
_LAYERS_MAX = 3


def topology_request(template: PodSetTemplate) -> Problems:
    """Checks the topology annotations of one pod template."""
    path, own = (*template.path, "annotations"), dict(pairs(dig(template.metadata, "annotations")))
    modes = [name for name in _MODES if name in own]
    if len(modes) > 1:
        yield Problem(path, f"{' and '.join(modes)} are set; only one is allowed")
    for name in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, SLICE_TOPOLOGY):
        if name in own:
            yield from label_key((*path, name), text(own[name]))
    if UNCONSTRAINED_TOPOLOGY in own and text(own[UNCONSTRAINED_TOPOLOGY]) not in BOOLEANS:
        yield invalid((*path, UNCONSTRAINED_TOPOLOGY), own[UNCONSTRAINED_TOPOLOGY], '"true" or "false"')
    yield from _group_name(path, own)
    if (SLICE_TOPOLOGY in own) != (SLICE_SIZE in own):
        present, absent = (SLICE_TOPOLOGY, SLICE_SIZE) if SLICE_TOPOLOGY in own else (SLICE_SIZE, SLICE_TOPOLOGY)
        yield missing((*path, absent), f"{present} needs the annotation")
    if SLICE_SIZE in own:
        yield from _slice_size((*path, SLICE_SIZE), own[SLICE_SIZE], template.pods)
    if SLICE_CONSTRAINTS in own:
        yield from _constraints(path, own, template.pods)


def pod_set_groups(templates: list[PodSetTemplate]) -> Problems:
    """Checks the groups of pod sets that Kueue places together: two pod sets, one of them with a single pod."""
    groups: dict[str, list[PodSetTemplate]] = {}
    for template in templates:
        name = dig(template.metadata, "annotations", GROUP_NAME)
        if isinstance(name, str):
            groups.setdefault(name, []).append(template)
    for name, members in groups.items():
        path: Path = (*members[0].path, "annotations", GROUP_NAME)
        if len(members) != 2:
            yield Problem(path, f"the group {name} has {len(members)} pod sets; expected 2")
            continue
        counts = [member.pods for member in members]
        if 1 not in counts:
            yield Problem(
                path, f"the pod sets of the group {name} have {counts[0]} and {counts[1]} pods; one must have 1"
            )
        modes = [
            tuple(dig(member.metadata, "annotations", mode) for mode in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY))
            for member in members
        ]
        if modes[0] != modes[1] or modes[0] == (None, None):
            yield Problem(path, f"the pod sets of the group {name} must have the same required or preferred topology")


def _group_name(path: Path, own: dict[str, Any]) -> Problems:
    name = own.get(GROUP_NAME)
    if name is None:
        return
    where = (*path, GROUP_NAME)
    if text(name).isdigit():
        yield invalid(where, name, "a name that is not a number")
    for other in (SLICE_SIZE, SLICE_TOPOLOGY, SLICE_CONSTRAINTS):
        if other in own:
            yield Problem(where, f"{GROUP_NAME} and {other} are both set")
    if REQUIRED_TOPOLOGY not in own and PREFERRED_TOPOLOGY not in own:
        yield Problem(where, f"{GROUP_NAME} needs {REQUIRED_TOPOLOGY} or {PREFERRED_TOPOLOGY}")


def _slice_size(path: Path, value: Any, count: int | None) -> Problems:
    if not _INTEGER.fullmatch(text(value)) or int(value) >= 2**31:
        yield invalid(path, value, "a number as text")
    elif int(value) < 1:
        yield invalid(path, value, "1 or more")
    elif count is not None and int(value) > count:
        yield invalid(path, value, f"at most {count}, the number of pods of the pod set")


def _constraints(path: Path, own: dict[str, Any], count: int | None) -> Problems:
    where = (*path, SLICE_CONSTRAINTS)
    for other in (SLICE_TOPOLOGY, SLICE_SIZE):
        if other in own:
            yield Problem(where, f"{SLICE_CONSTRAINTS} and {other} are both set")
    try:
        layers = json.loads(text(own[SLICE_CONSTRAINTS]))
    except ValueError:
        layers = None
    if not isinstance(layers, list) or not 1 <= len(layers) <= _LAYERS_MAX:
        yield invalid(where, own[SLICE_CONSTRAINTS], f"a JSON list of 1 to {_LAYERS_MAX} layers")
        return
    keys = [text(dig(layer, "topology")) for layer in layers]
    sizes = [number(dig(layer, "size")) or 0 for layer in layers]
    for key in keys:
        yield from label_key(where, key)
    if len(set(keys)) < len(keys):
        yield Problem(where, "two layers have the same topology")
    if min(sizes) < 1:
        yield Problem(where, f"the sizes of the layers are {shown(sizes)}; expected 1 or more")
    elif any(upper % lower for upper, lower in pairwise(sizes)):
        yield Problem(where, f"the sizes of the layers are {shown(sizes)}; each must divide the size before it")
    elif count is not None and sizes[0] > count:
        yield Problem(where, f"the size of the first layer is {sizes[0]}; the pod set has {count} pods")


class PodSetTemplate(NamedTuple):
    """The metadata of a pod template that Kueue reads."""

    path: Path
    """The path of the metadata in the document."""
    metadata: Any
    pods: int | None
    """The number of pods of the pod set; None if Kueue does not compare a number."""


def pod_set_templates(document: Any) -> Iterator[PodSetTemplate]:
    """Yields the metadata of the pod templates of an object whose annotations Kueue's webhook checks."""
    kind, spec = dig(document, "kind"), dig(document, "spec")
    match kind:
        case "Pod":
            yield PodSetTemplate(("metadata",), dig(document, "metadata"), None)
        case "Job":
            yield _template(document, ("spec", "template"), pods_of_job(spec))
        case "JobSet":
            for path, job in rows(("spec",), spec, "replicatedJobs"):
                count = count_or_one(dig(job, "replicas")) * pods_of_job(dig(job, "template", "spec"))
                yield _template(document, (*path, "template", "spec", "template"), count)
        case "LeaderWorkerSet":
            yield from _leader_worker(document)
        case "RayJob" | "RayCluster":
            yield from _ray(document, ("spec", "rayClusterSpec") if kind == "RayJob" else ("spec",))
        case _ if kind in REPLICA_SPECS:
            for role, replica in pairs(dig(spec, REPLICA_SPECS[kind])):
                path = ("spec", REPLICA_SPECS[kind], role, "template")
                yield _template(document, path, count_or_one(dig(replica, "replicas")))


def pods_of_job(spec: Any) -> int:
    """Returns the number of pods of a Job's spec that run at the same time."""
    parallelism, completions = count_or_one(dig(spec, "parallelism")), number(dig(spec, "completions"))
    return parallelism if completions is None else min(parallelism, completions)


def _ray(document: Any, cluster: Path) -> Iterator[PodSetTemplate]:
    if dig(document, *cluster) is not None:
        yield _template(document, (*cluster, "headGroupSpec", "template"), 1)
    for path, group in rows((), document, *cluster, "workerGroupSpecs"):
        count = count_or_one(dig(group, "replicas")) * count_or_one(dig(group, "numOfHosts"))
        yield _template(document, (*path, "template"), count)


def _leader_worker(document: Any) -> Iterator[PodSetTemplate]:
    path: Path = ("spec", "leaderWorkerTemplate")
    size, leader = count_or_one(dig(document, *path, "size")), dig(document, *path, "leaderTemplate")
    if leader is not None:
        yield _template(document, (*path, "leaderTemplate"), 1)
    yield _template(document, (*path, "workerTemplate"), size - (leader is not None))


def _template(document: Any, path: Path, count: int) -> PodSetTemplate:
    return PodSetTemplate((*path, "metadata"), dig(document, *path, "metadata"), count)
