"""Selectors, tolerations and taints as objects have them, read into the values of gpuc.kubernetes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.refused import Refused
from gpuc.kubernetes.selector import (
    LABEL_OPERATORS,
    NODE_OPERATORS,
    NOTHING,
    Requirement,
    Selector,
    equals,
    requirement,
)
from gpuc.kubernetes.toleration import Taint, Toleration
from gpuc.objects.object_set import dig, items, labels

_TERMS: Path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")


def equal_labels(raw: Any) -> Selector:
    """The selector that a map of labels is, as Services, flavors and pods have it."""
    return tuple(equals(key, value) for key, value in labels(raw).items())


def read_selector(raw: Any) -> Selector:
    """A LabelSelector.

    Source: k8s.io/apimachinery v0.35 pkg/apis/meta/v1/helpers.go (LabelSelectorAsSelector)

    Raises:
        Refused: for one that the API server does not take.
    """
    wanted = _of_type(raw, "matchLabels", dict)
    if any(not isinstance(value, str) for value in wanted.values()):
        raise Refused(f"matchLabels {wanted}")
    return (
        *(requirement(str(key), "In", (value,)) for key, value in wanted.items()),
        *read_requirements(_of_type(raw, "matchExpressions", list), LABEL_OPERATORS),
    )


def selector(raw: Any) -> Selector:
    """A LabelSelector; one that is missing, or that the API server refuses, selects nothing."""
    try:
        return read_selector(raw)
    except Refused:
        return NOTHING


def read_requirements(raw: Any, operators: Collection[str]) -> Selector:
    """A list of requirements with key, operator and values.

    Raises:
        Refused: for one that the API server does not take.
    """
    return tuple(_requirement(row, operators) for _, row in items(raw))


def valid_requirements(raw: Any, operators: Collection[str]) -> Iterator[Requirement]:
    """The requirements of a list that the API server takes."""
    for _, row in items(raw):
        try:
            yield _requirement(row, operators)
        except Refused:
            continue


def _requirement(raw: Any, operators: Collection[str]) -> Requirement:
    key, operator, values = dig(raw, "key"), dig(raw, "operator"), _of_type(raw, "values", list)
    if not isinstance(key, str) or not isinstance(operator, str) or not all(isinstance(text, str) for text in values):
        raise Refused(f"requirement {raw}")
    return requirement(key, operator, values, operators)


def _of_type(raw: Any, key: str, kind: type) -> Any:
    value = dig(raw, key)
    if not isinstance(raw, dict) or not isinstance(value, kind | None):
        raise Refused(f"{key} of {raw}")
    return kind() if value is None else value


def wanted_labels(raw: Any, path: Path) -> Iterator[tuple[Path, str, list[str]]]:
    """Place, key and allowed values of everything that a LabelSelector at a path asks labels to have."""
    for key, value in labels(dig(raw, "matchLabels")).items():
        yield (*path, "matchLabels", key), key, [value]
    for number, row in items(dig(raw, "matchExpressions")):
        values = [value for _, value in items(dig(row, "values")) if isinstance(value, str)]
        if dig(row, "operator") == "In" and isinstance(key := dig(row, "key"), str) and values:
            yield (*path, "matchExpressions", number, "values"), key, values


def node_terms(pod: Any) -> tuple[Selector, ...]:
    """What nodeSelector and required node affinity of a pod's spec ask of a node: one of these has to hold in full.

    A term that is empty, or that cannot be read, selects nothing.

    Source: k8s.io/component-helpers v0.35 scheduling/corev1/nodeaffinity/nodeaffinity.go
    """
    own = equal_labels(dig(pod, "nodeSelector"))
    return tuple((*own, *_term(term)) for _, term in items(dig(pod, *_TERMS))) or (own,)


def _term(raw: Any) -> Selector:
    try:
        found = read_requirements(dig(raw, "matchExpressions"), NODE_OPERATORS)
    except Refused:
        return NOTHING
    return found if found or dig(raw, "matchFields") else NOTHING


def tolerations(raw: Any) -> tuple[Toleration, ...]:
    """A list of tolerations; those of a shape that the API server refuses are left out."""
    return tuple(
        Toleration(*(dig(row, part) or "" for part in ("key", "operator", "value", "effect")))
        for _, row in items(raw)
        if isinstance(row, dict)
        and all(isinstance(row.get(part), str | None) for part in ("key", "operator", "value", "effect"))
    )


def taints(raw: Any) -> tuple[Taint, ...]:
    """A list of taints; those without a key or an effect are left out."""
    return tuple(
        Taint(key, str(dig(row, "value") or ""), effect, index)
        for index, row in items(raw)
        if isinstance(key := dig(row, "key"), str) and isinstance(effect := dig(row, "effect"), str)
    )
