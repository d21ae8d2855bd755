"""The checks that Kueue's webhooks do for new objects of several kinds: of labels, annotations and topology.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/validation.go and tas_validation.go,
pkg/controller/jobs (PodSets of each kind), apis/kueue/v1beta2/topology_types.go,
pkg/util/webhook/validation_admissiongatedby.go; feature gates with their defaults in pkg/features/kube_features.go
"""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from gpuc.admission.validation.constraints import dns_subdomain, domain_path, label_key
from gpuc.admission.validation.field import Field, Problems, number, shown, text
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.dns_name import LABEL
from gpuc.kubernetes.kueue import GROUP, PREFERRED_TOPOLOGY, QUEUE_LABEL, REQUIRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY
from gpuc.objects.object_set import dig, grouped
from gpuc.objects.paths import matching_values, pattern
from gpuc.parts.workload_kind import WorkloadKind
from gpuc.parts.workload_kinds import workload_kind

CHECK = "webhook of Kueue"
LABELS: Path = ("metadata", "labels")
ANNOTATIONS: Path = ("metadata", "annotations")
PREBUILT = f"{GROUP}/prebuilt-workload-name"
MAX_SECONDS = f"{GROUP}/max-exec-time-seconds"
ELASTIC = f"{GROUP}/elastic-job"
GATED_BY = f"{GROUP}/admission-gated-by"
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
_COUNT = re.compile(r"[-+]?[0-9]{1,18}")


def _queue_and_gates(document: Field) -> Problems:
    queue, gates = document.at(*LABELS, QUEUE_LABEL), document.at(*ANNOTATIONS, GATED_BY)
    yield from dns_subdomain(queue)
    if queue.value == "":
        yield queue.invalid("the name of a LocalQueue")
    names: set[str] = set()
    for gate in (part.strip() for part in gates.text.split(",")) if gates.text.strip() else ():
        yield from domain_path(gates.reads(gate))
        if gate in names:
            yield gates.problem(f"the gate {gate} is named twice")
        names.add(gate)


def _not_elastic(document: Field) -> Problems:
    elastic = document.at(*ANNOTATIONS, ELASTIC)
    if elastic.value == "true":
        yield elastic.problem(f"Kueue has no elastic jobs of kind {document.get('kind')}", "remove the annotation")


def _labels_of_jobs(document: Field) -> Problems:
    annotation = document.at(*ANNOTATIONS, PREBUILT)
    yield from dns_subdomain(annotation if annotation.text else document.at(*LABELS, PREBUILT))
    seconds = document.at(*LABELS, MAX_SECONDS)
    if seconds.value is not None and not is_count(seconds.value):
        yield seconds.invalid("a number of seconds above 0")


def is_count(value: Any) -> bool:
    """Returns whether a value is a string with a number above 0, for example "8"."""
    return _COUNT.fullmatch(text(value)) is not None and int(value) > 0


class PodSetTemplate(NamedTuple):
    """The annotations of a pod template from which Kueue reads the topology of the pods."""

    annotations: Field
    pods: int | None
    """The number of pods of the pod set; None if Kueue does not compare a number."""
    name: str = ""


def _topology_of_pod_sets(document: Field) -> Problems:
    for template in _pod_sets(document):
        yield from topology(template)


def _topology_of_pod_sets_and_groups(document: Field) -> Problems:
    yield from _topology_of_pod_sets(document)
    yield from _groups(list(_pod_sets(document)))


def _names_of_pod_sets(document: Field) -> Problems:
    names = {pods.pod_set for pods in _record(document).traits.further_pods(document.value)}
    for template in _pod_sets(document):
        name = template.name.lower()
        if not LABEL.fullmatch(name) or name in names:
            part = document.at(*template.annotations.path[:-3])
            yield part.problem(f"the name of the pod set is {name}; expected a DNS label that no other pod set has")
        names.add(name)


def _pod_sets(document: Field) -> Iterator[PodSetTemplate]:
    """Yields the pod templates of an object, each with the number of pods and the name of its pod set."""
    record = _record(document)
    if record.pod_set is None:
        return
    for template in record.templates:
        for path, _ in matching_values(document.value, pattern(template)):
            name, pods = record.pod_set(document.value, path)
            yield PodSetTemplate(document.at(*path, *ANNOTATIONS), pods, name)


def _record(document: Field) -> WorkloadKind:
    return workload_kind(str(document.get("apiVersion")).rpartition("/")[0], str(document.get("kind")))


def topology(template: PodSetTemplate) -> Problems:
    """Checks the annotations of a pod template that request a topology, such as podset-required-topology."""
    annotations, own = template.annotations, dict(template.annotations.entries())
    modes = [name for name in _MODES if name in own]
    if len(modes) > 1:
        yield annotations.problem(f"{' and '.join(modes)} are set; only one is allowed")
    for name in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, SLICE_TOPOLOGY):
        if name in own:
            yield from label_key(own[name])
    if UNCONSTRAINED_TOPOLOGY in own and own[UNCONSTRAINED_TOPOLOGY].text not in BOOLEANS:
        yield own[UNCONSTRAINED_TOPOLOGY].invalid('"true" or "false"')
    if GROUP_NAME in own:
        yield from _group_name(own)
    if (SLICE_TOPOLOGY in own) != (SLICE_SIZE in own):
        present, absent = (SLICE_TOPOLOGY, SLICE_SIZE) if SLICE_TOPOLOGY in own else (SLICE_SIZE, SLICE_TOPOLOGY)
        yield annotations.at(absent).missing(f"{present} needs the annotation")
    for name, check in ((SLICE_SIZE, _slice_size), (SLICE_CONSTRAINTS, _constraints)):
        if name in own:
            yield from check(own[name], template.pods)


def _groups(templates: list[PodSetTemplate]) -> Problems:
    """Checks the groups of pod sets that Kueue places together: two pod sets, one of them with a single pod."""
    named = (template for template in templates if isinstance(template.annotations.get(GROUP_NAME), str))
    for name, members in grouped(named, lambda template: template.annotations.get(GROUP_NAME)).items():
        field = members[0].annotations.at(GROUP_NAME)
        if len(members) != 2:
            yield field.problem(f"the group {name} has {len(members)} pod sets; expected 2")
            continue
        counts = [member.pods for member in members]
        if 1 not in counts:
            pods = f"{counts[0]} and {counts[1]} pods; one must have 1"
            yield field.problem(f"the pod sets of the group {name} have {pods}")
        modes = [
            [member.annotations.get(mode) for mode in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY)] for member in members
        ]
        if modes[0] != modes[1] or modes[0] == [None, None]:
            yield field.problem(f"the pod sets of the group {name} must have the same required or preferred topology")


def _group_name(own: dict[str, Field]) -> Problems:
    field = own[GROUP_NAME]
    if field.text.isdigit():
        yield field.invalid("a name that is not a number")
    for other in (SLICE_SIZE, SLICE_TOPOLOGY, SLICE_CONSTRAINTS):
        if other in own:
            yield field.problem(f"{GROUP_NAME} and {other} are both set")
    if REQUIRED_TOPOLOGY not in own and PREFERRED_TOPOLOGY not in own:
        yield field.problem(f"{GROUP_NAME} needs {REQUIRED_TOPOLOGY} or {PREFERRED_TOPOLOGY}")


def _slice_size(size: Field, count: int | None) -> Problems:
    if not _INTEGER.fullmatch(size.text) or int(size.text) >= 2**31:
        yield size.invalid("a number as text")
    elif int(size.text) < 1:
        yield size.invalid("1 or more")
    elif count is not None and int(size.text) > count:
        yield size.invalid(f"at most {count}, the number of pods of the pod set")


def _constraints(field: Field, count: int | None) -> Problems:
    for other in (SLICE_TOPOLOGY, SLICE_SIZE):
        if field.beside(other) is not None:
            yield field.problem(f"{SLICE_CONSTRAINTS} and {other} are both set")
    try:
        layers = json.loads(field.text)
    except ValueError:
        layers = None
    if not isinstance(layers, list) or not 1 <= len(layers) <= _LAYERS_MAX:
        yield field.invalid(f"a JSON list of 1 to {_LAYERS_MAX} layers")
        return
    keys = [text(dig(layer, "topology")) for layer in layers]
    sizes = [number(dig(layer, "size")) or 0 for layer in layers]
    for key in keys:
        yield from label_key(field.reads(key))
    if len(set(keys)) < len(keys):
        yield field.problem("two layers have the same topology")
    if min(sizes) < 1:
        yield field.problem(f"the sizes of the layers are {shown(sizes)}; expected 1 or more")
    elif any(upper % lower for upper, lower in pairwise(sizes)):
        yield field.problem(f"the sizes of the layers are {shown(sizes)}; each must divide the size before it")
    elif count is not None and sizes[0] > count:
        yield field.problem(f"the size of the first layer is {sizes[0]}; the pod set has {count} pods")
