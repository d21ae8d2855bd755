"""Tolerations, node affinity, pod affinity and topology spread constraints of pods.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (ValidateTolerations, validateAffinity,
validateTopologySpreadConstraints)
"""

from __future__ import annotations

from typing import Any

from gpuc.admission.validation.metadata import label_selector, requirement
from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    at_least,
    dns_label,
    dns_subdomain,
    invalid,
    label_key,
    label_value,
    missing,
    number,
    one_of,
    required,
    rows,
    text,
)
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items, pairs

Labels = dict[str, Any]
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_WEIGHT_MAX = 100


def tolerations(path: Path, spec: Any) -> Problems:
    """Checks the tolerations of a pod."""
    for where, row in rows(path, spec, "tolerations"):
        key, operator, value, effect = (text(dig(row, name)) for name in ("key", "operator", "value", "effect"))
        if key:
            yield from label_key((*where, "key"), key)
        elif operator != "Exists":
            yield Problem((*where, "operator"), "a toleration without a key needs the operator Exists", "write Exists")
        if number(dig(row, "tolerationSeconds")) is not None and effect != "NoExecute":
            message = "tolerationSeconds needs the effect NoExecute"
            yield Problem((*where, "effect"), message, "remove tolerationSeconds")
        if operator in ("", "Equal"):
            yield from label_value((*where, "value"), value)
        elif operator == "Exists":
            if value:
                message = "the operator Exists allows no value"
                yield Problem((*where, "value"), message, "remove value, or write operator: Equal")
        else:
            yield invalid((*where, "operator"), operator, "Equal or Exists")
        yield from one_of((*where, "effect"), effect or None, _EFFECTS)


def affinity(path: Path, spec: Any, own: Labels) -> Problems:
    """Checks the node affinity, pod affinity and pod anti-affinity of a pod.

    Args:
        own: the labels of the pod; empty for a pod template, because the API server merges them into pods only.
    """
    where: Path = (*path, "affinity", "nodeAffinity")
    node = dig(spec, "affinity", "nodeAffinity")
    if dig(node, _REQUIRED) is not None:
        if not dig(node, _REQUIRED, "nodeSelectorTerms"):
            yield missing((*where, _REQUIRED, "nodeSelectorTerms"), "expected at least one term")
        for term_path, term in rows(where, node, _REQUIRED, "nodeSelectorTerms"):
            yield from _node_term(term_path, term, is_required=True)
    for term_path, row in rows(where, node, _PREFERRED):
        yield from at_least((*term_path, "weight"), dig(row, "weight") or 0, 1, _WEIGHT_MAX)
        yield from _node_term((*term_path, "preference"), dig(row, "preference"), is_required=False)
    for name in ("podAffinity", "podAntiAffinity"):
        for term_path, term in rows(path, spec, "affinity", name, _REQUIRED):
            yield from _pod_term(term_path, term, own)
        for term_path, row in rows(path, spec, "affinity", name, _PREFERRED):
            yield from at_least((*term_path, "weight"), dig(row, "weight") or 0, 1, _WEIGHT_MAX)
            yield from _pod_term((*term_path, "podAffinityTerm"), dig(row, "podAffinityTerm"), own)


def topology_spread(path: Path, spec: Any, own: Labels) -> Problems:
    """Checks the topology spread constraints of a pod. `own` are the labels as for `affinity`."""
    seen: set[tuple[str, str]] = set()
    for where, row in rows(path, spec, "topologySpreadConstraints"):
        key, action = text(dig(row, "topologyKey")), text(dig(row, "whenUnsatisfiable"))
        yield from at_least((*where, "maxSkew"), dig(row, "maxSkew") or 0, 1)
        yield from required(where, row, "topologyKey")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            yield invalid((*where, "whenUnsatisfiable"), action, "DoNotSchedule or ScheduleAnyway")
        if (key, action) in seen:
            yield Problem(where, f"two constraints have topologyKey {key} and whenUnsatisfiable {action}")
        seen.add((key, action))
        if dig(row, "minDomains") is not None:
            yield from at_least((*where, "minDomains"), dig(row, "minDomains"), 1)
            if action != "DoNotSchedule":
                yield Problem((*where, "minDomains"), f"minDomains needs DoNotSchedule, not {action}")
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            yield from one_of((*where, name), dig(row, name), ("Honor", "Ignore"))
        yield from label_selector((*where, "labelSelector"), dig(row, "labelSelector"))
        yield from _label_keys(where, row, own)


def node_selector(path: Path, spec: Any) -> Problems:
    """Checks the node selector of a pod, whose keys and values are labels."""
    for key, value in pairs(dig(spec, "nodeSelector")):
        yield from label_key((*path, "nodeSelector", key), key)
        yield from label_value((*path, "nodeSelector", key), value)


def _node_term(path: Path, term: Any, *, is_required: bool) -> Problems:
    for where, row in rows(path, term, "matchExpressions"):
        yield from requirement(where, row, _OPERATORS)
        for value_path, value in rows(where, row, "values") if is_required else ():
            yield from label_value(value_path, value)
    for where, row in rows(path, term, "matchFields"):
        values = [value for _, value in items(dig(row, "values"))]
        if dig(row, "operator") not in ("In", "NotIn"):
            yield invalid((*where, "operator"), dig(row, "operator"), "In or NotIn")
        elif len(values) != 1:
            yield invalid((*where, "values"), values, "exactly one value")
        if dig(row, "key") != "metadata.name":
            yield invalid((*where, "key"), dig(row, "key"), "metadata.name")
        for position, value in enumerate(values):
            yield from dns_subdomain((*where, "values", position), value)


def _pod_term(path: Path, term: Any, own: Labels) -> Problems:
    for name in ("labelSelector", "namespaceSelector"):
        yield from label_selector((*path, name), dig(term, name))
    for where, namespace in rows(path, term, "namespaces"):
        yield from dns_label(where, namespace)
    yield from _label_keys(path, term, own)
    yield from required(path, term, "topologyKey")
    yield from label_key((*path, "topologyKey"), text(dig(term, "topologyKey")))


def _label_keys(path: Path, term: Any, own: Labels) -> Problems:
    """Checks matchLabelKeys and mismatchLabelKeys.

    The API server adds a requirement to the label selector of a pod for each of these keys that the pod has as a label.
    No two requirements for a key of matchLabelKeys may exist.
    """
    selector = dig(term, "labelSelector")
    keys = {name: [text(key) for _, key in items(dig(term, name))] for name in ("matchLabelKeys", "mismatchLabelKeys")}
    for field, names in keys.items():
        if names and selector is None:
            yield Problem((*path, field), f"{field} needs a labelSelector")
        for index, key in enumerate(names):
            yield from label_key((*path, field, index), key)
    used = {key for key, _ in pairs(dig(selector, "matchLabels"))}
    expected = [text(dig(row, "key")) for _, row in items(dig(selector, "matchExpressions"))]
    for key in (*expected, *(key for names in keys.values() for key in names if key in own)):
        if key in used and key in keys["matchLabelKeys"]:
            where = (*path, "matchLabelKeys", keys["matchLabelKeys"].index(key))
            yield Problem(where, f"{key} is also in labelSelector", f"remove {key} from matchLabelKeys")
        used.add(key)
    for key in keys["mismatchLabelKeys"]:
        if key in keys["matchLabelKeys"]:
            where = (*path, "mismatchLabelKeys", keys["mismatchLabelKeys"].index(key))
            yield Problem(where, f"{key} is also in matchLabelKeys")
