"""Label selectors: whether the API server accepts a LabelSelector, and whether labels match.

Source: k8s.io/apimachinery v0.35.4 pkg/apis/meta/v1/validation/validation.go (ValidateLabelSelector)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.admission.validation.problem import Problem, Problems, invalid, label_key, label_value, labels_map, missing
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.invalid import Invalid
from gpuc.kubernetes.selector import matches
from gpuc.objects.object_set import dig, items, labels
from gpuc.objects.selectors import read_selector

_WITH_VALUES, _WITHOUT_VALUES = ("In", "NotIn"), ("Exists", "DoesNotExist")


def label_selector(path: Path, selector: Any) -> Problems:
    """Checks a LabelSelector. A missing selector has no problem."""
    yield from labels_map((*path, "matchLabels"), dig(selector, "matchLabels"))
    for number, row in items(dig(selector, "matchExpressions")):
        yield from _expression((*path, "matchExpressions", number), row)


def required_selector(document: Any, kind: str) -> Problems:
    """Checks the selector of a Deployment, StatefulSet, ReplicaSet or DaemonSet, and that it selects its own pods."""
    path: Path = ("spec", "selector")
    selector = dig(document, *path)
    if not isinstance(selector, dict):
        yield missing(path)
        return
    problems = list(label_selector(path, selector))
    yield from problems
    if not (dig(selector, "matchLabels") or dig(selector, "matchExpressions")):
        yield Problem(path, f"the selector is empty, and a {kind} needs the labels of its pods")
    elif not problems:
        yield from selects_template(document, selector)


def selects_template(document: Any, selector: Any, path: Path = ("spec", "template")) -> Iterator[Problem]:
    """Checks that a valid selector matches the labels of the pod template."""
    own = labels(dig(document, *path, "metadata", "labels"))
    try:
        is_match = matches(read_selector(selector), own)
    except Invalid:
        return
    if not is_match:
        wanted = labels(dig(selector, "matchLabels"))
        absent = {key: value for key, value in wanted.items() if own.get(key) != value}
        fix = f"add the labels {', '.join(f'{key}: {value}' for key, value in absent.items())}" if absent else ""
        yield Problem((*path, "metadata", "labels"), "the selector does not match the labels of the pod template", fix)


def _expression(path: Path, row: Any) -> Problems:
    operator, values = dig(row, "operator"), dig(row, "values") or []
    if operator in _WITH_VALUES and not values:
        yield missing((*path, "values"), f"{operator} needs values")
    elif operator in _WITHOUT_VALUES and values:
        yield Problem((*path, "values"), f"{operator} allows no values", "remove values")
    elif operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
        yield invalid((*path, "operator"), operator, " or ".join((*_WITH_VALUES, *_WITHOUT_VALUES)))
    yield from label_key((*path, "key"), dig(row, "key") or "")
    for number, value in items(values):
        yield from label_value((*path, "values", number), value)
