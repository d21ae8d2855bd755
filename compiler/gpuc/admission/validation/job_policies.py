"""The pod failure policy and the success policy of Jobs.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/batch/validation/validation.go (validatePodFailurePolicy,
validateSuccessPolicy, validateIndexesFormat)
"""

from __future__ import annotations

import re
from typing import Any

from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    at_least,
    invalid,
    label_key,
    missing,
    number,
    one_of,
    text,
)
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items

_ACTIONS = ("FailJob", "FailIndex", "Ignore", "Count")
_RULES_MAX, _CODES_MAX, _PATTERNS_MAX, _INDEXES_LENGTH_MAX = 20, 255, 20, 64 * 1024
_INDEXES = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")


def pod_failure_policy(path: Path, spec: Any) -> Problems:
    """Checks the pod failure policy of a Job's spec."""
    rules = list(items(dig(spec, "podFailurePolicy", "rules")))
    where: Path = (*path, "podFailurePolicy", "rules")
    if len(rules) > _RULES_MAX:
        yield Problem(where, f"{len(rules)} rules; at most {_RULES_MAX} are allowed")
    pod = dig(spec, "template", "spec")
    names = {text(dig(row, "name")) for field in ("containers", "initContainers") for _, row in items(dig(pod, field))}
    for index, rule in rules:
        yield from _failure_rule(
            (*where, index), rule, names, has_index_limit=dig(spec, "backoffLimitPerIndex") is not None
        )


def _failure_rule(path: Path, rule: Any, names: set[str], *, has_index_limit: bool) -> Problems:
    action = text(dig(rule, "action"))
    if not action:
        yield missing((*path, "action"), f"expected {' or '.join(_ACTIONS)}")
    yield from one_of((*path, "action"), action or None, _ACTIONS)
    if action == "FailIndex" and not has_index_limit:
        yield Problem((*path, "action"), "FailIndex needs backoffLimitPerIndex")
    codes, conditions = dig(rule, "onExitCodes"), list(items(dig(rule, "onPodConditions")))
    if (codes is None) == (not conditions):
        yield Problem(path, "expected exactly one of onExitCodes and onPodConditions")
    if codes is not None:
        yield from _exit_codes((*path, "onExitCodes"), codes, names)
    if len(conditions) > _PATTERNS_MAX:
        yield Problem((*path, "onPodConditions"), f"{len(conditions)} conditions; at most {_PATTERNS_MAX} are allowed")
    for index, condition in conditions:
        where: Path = (*path, "onPodConditions", index)
        yield from label_key((*where, "type"), text(dig(condition, "type")))
        yield from one_of((*where, "status"), dig(condition, "status") or None, ("True", "False", "Unknown"))


def _exit_codes(path: Path, codes: Any, names: set[str]) -> Problems:
    operator, container = dig(codes, "operator"), dig(codes, "containerName")
    if operator not in ("In", "NotIn"):
        yield invalid((*path, "operator"), operator, "In or NotIn")
    if container is not None and container not in names:
        yield invalid((*path, "containerName"), container, f"a container of the pod: {', '.join(sorted(names))}")
    values = [value for _, row in items(dig(codes, "values")) if (value := number(row)) is not None]
    where: Path = (*path, "values")
    if not values:
        yield missing(where)
    elif len(values) > _CODES_MAX:
        yield Problem(where, f"{len(values)} exit codes; at most {_CODES_MAX} are allowed")
    if len(set(values)) < len(values) or values != sorted(values):
        in_order = sorted(set(values))
        yield Problem(where, "the exit codes must be sorted and different", f"write {in_order}")
    if operator == "In" and 0 in values:
        yield Problem(where, "the operator In does not allow the exit code 0, which is a success")


def success_policy(path: Path, spec: Any) -> Problems:
    """Checks the success policy of a Job's spec. The Job has completionMode Indexed."""
    where: Path = (*path, "successPolicy", "rules")
    rules = list(items(dig(spec, "successPolicy", "rules")))
    if not rules:
        yield missing(where)
    if len(rules) > _RULES_MAX:
        yield Problem(where, f"{len(rules)} rules; at most {_RULES_MAX} are allowed")
    completions = number(dig(spec, "completions")) or 0
    for index, rule in rules:
        count, indexes = dig(rule, "succeededCount"), dig(rule, "succeededIndexes")
        if count is None and indexes is None:
            yield Problem((*where, index), "expected succeededCount or succeededIndexes")
        total = completions
        if isinstance(indexes, str):
            problems = list(_indexes((*where, index, "succeededIndexes"), indexes, completions))
            yield from problems
            total = completions if problems else _total(indexes)
        yield from at_least((*where, index, "succeededCount"), count, 0, min(total, completions))


def _indexes(path: Path, value: str, completions: int) -> Problems:
    """Checks indexes such as 0,2-4: increasing numbers below the number of completions."""
    if len(value) > _INDEXES_LENGTH_MAX:
        yield Problem(path, f"{len(value)} characters; at most {_INDEXES_LENGTH_MAX} are allowed")
    elif value and not _INDEXES.fullmatch(value):
        yield invalid(path, value, "indexes in increasing order such as 0,2-4")
    elif value:
        ends = [int(end) for interval in value.split(",") for end in interval.split("-")]
        if max(ends) >= completions:
            yield invalid(path, value, f"indexes below the {completions} completions")
        if ends != sorted(set(ends)):
            yield invalid(path, value, "indexes in increasing order such as 0,2-4")


def _total(indexes: str) -> int:
    ends = (interval.split("-") for interval in indexes.split(",") if interval)
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)
