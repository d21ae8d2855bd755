"""Converts selectors, tolerations and taints in objects into the classes of gpuc.kubernetes."""

from collections.abc import Collection, Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.selector import (
    LABEL_OPERATORS,
    NODE_OPERATORS,
    NOTHING,
    Invalid,
    Requirement,
    Selector,
    equals,
    requirement,
)
from gpuc.kubernetes.toleration import Taint, Toleration
from gpuc.objects.object_set import dig, items, labels

NODE_TERMS: Path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
"""The path of the terms of required node affinity in the spec of a pod."""


def equal_labels(raw: Any) -> Selector:
    """Converts a map of labels, as in nodeSelector or the selector of a Service, into a selector."""
    return tuple(equals(key, value) for key, value in labels(raw).items())


def read_selector(raw: Any) -> Selector:
    """Converts a LabelSelector into a selector.

    Source: k8s.io/apimachinery v0.35 pkg/apis/meta/v1/helpers.go (LabelSelectorAsSelector)

    Raises:
        Invalid: if the API server rejects the LabelSelector.
    """
    wanted = _of_type(raw, "matchLabels", dict)
    if any(not isinstance(value, str) for value in wanted.values()):
        raise Invalid(f"matchLabels {wanted}")
    return (
        *(requirement(str(key), "In", (value,)) for key, value in wanted.items()),
        *read_requirements(_of_type(raw, "matchExpressions", list), LABEL_OPERATORS),
    )


def selector(raw: Any) -> Selector:
    """Converts a LabelSelector into a selector. A missing or invalid LabelSelector selects nothing."""
    try:
        return read_selector(raw)
    except Invalid:
        return NOTHING


def read_requirements(raw: Any, operators: Collection[str]) -> Selector:
    """Converts a list of requirements, each with key, operator and values, into a selector.

    Args:
        operators: the allowed operators.

    Raises:
        Invalid: if the API server rejects a requirement.
    """
    return tuple(_requirement(row, operators) for _, row in items(raw))


def valid_requirements(raw: Any, operators: Collection[str]) -> Iterator[Requirement]:
    """Yields the requirements in a list that the API server would accept."""
    for _, row in items(raw):
        try:
            yield _requirement(row, operators)
        except Invalid:
            continue


def _requirement(raw: Any, operators: Collection[str]) -> Requirement:
    key, operator, values = dig(raw, "key"), dig(raw, "operator"), _of_type(raw, "values", list)
    if not isinstance(key, str) or not isinstance(operator, str) or not all(isinstance(text, str) for text in values):
        raise Invalid(f"requirement {raw}")
    return requirement(key, operator, values, operators)


def _of_type(raw: Any, key: str, kind: type) -> Any:
    value = dig(raw, key)
    if not isinstance(raw, dict) or not isinstance(value, kind | None):
        raise Invalid(f"{key} of {raw}")
    return kind() if value is None else value


def wanted_labels(raw: Any, path: Path) -> Iterator[tuple[Path, str, list[str]]]:
    """Yields the path, the key and the allowed values of every label that a LabelSelector requires.

    Args:
        path: the path of the LabelSelector, which is added at the start of the yielded paths.
    """
    for key, value in labels(dig(raw, "matchLabels")).items():
        yield (*path, "matchLabels", key), key, [value]
    for number, row in items(dig(raw, "matchExpressions")):
        values = [value for _, value in items(dig(row, "values")) if isinstance(value, str)]
        if dig(row, "operator") == "In" and isinstance(key := dig(row, "key"), str) and values:
            yield (*path, "matchExpressions", number, "values"), key, values


def node_terms(pod: Any) -> tuple[Selector, ...]:
    """Returns the node selector terms in the spec of a pod: nodeSelector, combined with required node affinity.

    A node must match at least one of the terms. An empty or invalid term matches no node.

    Source: k8s.io/component-helpers v0.35 scheduling/corev1/nodeaffinity/nodeaffinity.go
    """
    own = equal_labels(dig(pod, "nodeSelector"))
    return tuple((*own, *node_term(term)) for _, term in items(dig(pod, *NODE_TERMS))) or (own,)


def node_term(raw: Any) -> Selector:
    """Converts one term of required node affinity into a selector. An invalid term selects nothing."""
    try:
        requirements = read_requirements(dig(raw, "matchExpressions"), NODE_OPERATORS)
    except Invalid:
        return NOTHING
    return requirements if requirements or dig(raw, "matchFields") else NOTHING


def tolerations(raw: Any) -> tuple[Toleration, ...]:
    """Returns the tolerations in a list. Leaves out tolerations with a field that is not a string."""
    names = ("key", "operator", "value", "effect")
    rows = ([row.get(name) for name in names] for _, row in items(raw) if isinstance(row, dict))
    valid = (row for row in rows if all(isinstance(text, str | None) for text in row))
    return tuple(Toleration(*(text or "" for text in row)) for row in valid)


def taints(raw: Any) -> tuple[Taint, ...]:
    """Returns the taints in a list. Leaves out taints without a key or an effect."""
    return tuple(
        Taint(key, str(dig(row, "value") or ""), effect, index)
        for index, row in items(raw)
        if isinstance(key := dig(row, "key"), str) and isinstance(effect := dig(row, "effect"), str)
    )
