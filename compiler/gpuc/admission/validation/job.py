"""Jobs, with their pod failure policy and success policy.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/batch/validation/validation.go, pkg/registry/batch/job/strategy.go
"""

from __future__ import annotations

import re
from typing import Any

from gpuc.admission.validation.metadata import label_selector, selects_template
from gpuc.admission.validation.pod import pod_template
from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    at_least,
    dns_label,
    domain_path,
    invalid,
    label_key,
    missing,
    number,
    one_of,
    text,
)
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items, pairs
from gpuc.objects.pods import JOB_NAME

CONTROLLER_IDS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NEW_UID = "00000000-0000-0000-0000-000000000000"
"""The uid of an object that does not exist yet. The API server generates another one, also if the object has a uid."""
_COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_INDEXED_MAX, _MANY, _MANY_PARALLEL, _MANY_FAILED = 100_000, 100_000, 10_000, 10_000
_ACTIONS = ("FailJob", "FailIndex", "Ignore", "Count")
_RULES_MAX, _CODES_MAX, _PATTERNS_MAX, _INDEXES_LENGTH_MAX = 20, 255, 20, 64 * 1024
_INDEXES = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")


def job(document: Any) -> Problems:
    """Checks the spec of a Job, with the API server's defaults."""
    spec, name = dig(document, "spec"), text(dig(document, "metadata", "name"))
    yield from job_spec(("spec",), spec)
    yield from _selector(document, spec, name)
    completions = number(dig(spec, "completions"))
    if dig(spec, "completionMode") == "Indexed" and completions and completions > 0:
        longest = f"{name}-{completions - 1}"
        for problem in dns_label(("metadata", "name"), longest):
            message = f'the hostname of a pod would be "{longest}"; expected a DNS label of at most 63 characters'
            yield problem._replace(message=message, fix="")


def job_spec(path: Path, spec: Any) -> Problems:
    """Checks the spec of a Job or of the Job template of a CronJob, without the selector."""
    for name in _COUNTS:
        yield from at_least((*path, name), dig(spec, name), 0)
    yield from domain_path((*path, "managedBy"), dig(spec, "managedBy"))
    yield from one_of((*path, "completionMode"), dig(spec, "completionMode"), ("NonIndexed", "Indexed"))
    is_indexed = dig(spec, "completionMode") == "Indexed"
    yield from _indexed(path, spec) if is_indexed else _not_indexed(path, spec)
    failure = dig(spec, "podFailurePolicy")
    if failure is not None:
        yield from pod_failure_policy(path, spec)
    if dig(spec, "successPolicy") is not None:
        if is_indexed:
            yield from success_policy(path, spec)
        else:
            yield Problem((*path, "successPolicy"), "successPolicy needs completionMode Indexed")
    replacements = ("Failed",) if failure is not None else ("TerminatingOrFailed", "Failed")
    yield from one_of((*path, "podReplacementPolicy"), dig(spec, "podReplacementPolicy"), replacements)
    yield from pod_template((*path, "template"), dig(spec, "template"))
    yield from _restart_policy((*path, "template", "spec", "restartPolicy"), spec)


def _restart_policy(path: Path, spec: Any) -> Problems:
    policy = text(dig(spec, "template", "spec", "restartPolicy"))
    if policy in ("", "Always"):
        message = (
            "the pods of a Job cannot have restartPolicy Always, which is the default; expected Never or OnFailure"
        )
        yield Problem(path, message, "write restartPolicy: Never")
    elif dig(spec, "podFailurePolicy") is not None and policy == "OnFailure":
        yield Problem(path, "podFailurePolicy needs restartPolicy Never", "write restartPolicy: Never")


def _not_indexed(path: Path, spec: Any) -> Problems:
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if dig(spec, name) is not None:
            yield Problem((*path, name), f"{name} needs completionMode Indexed", "add completionMode: Indexed")
    if dig(spec, "maxFailedIndexes") is not None and dig(spec, "backoffLimitPerIndex") is None:
        yield missing((*path, "backoffLimitPerIndex"), "maxFailedIndexes needs the field")


def _indexed(path: Path, spec: Any) -> Problems:
    completions, parallelism = number(dig(spec, "completions")), number(dig(spec, "parallelism")) or 0
    failed, per_index = number(dig(spec, "maxFailedIndexes")), dig(spec, "backoffLimitPerIndex")
    if failed is not None and per_index is None:
        yield missing((*path, "backoffLimitPerIndex"), "maxFailedIndexes needs the field")
    if completions is None:
        yield missing((*path, "completions"), "completionMode Indexed needs the field")
        return
    if parallelism > _INDEXED_MAX:
        yield invalid((*path, "parallelism"), parallelism, f"at most {_INDEXED_MAX} with completionMode Indexed")
    if failed is not None and failed > min(completions, _INDEXED_MAX):
        yield invalid((*path, "maxFailedIndexes"), failed, f"at most {min(completions, _INDEXED_MAX)}")
    if completions > _MANY and per_index is not None:
        if failed is None:
            yield missing((*path, "maxFailedIndexes"), f"more than {_MANY} completions need the field")
        elif failed > _MANY_FAILED:
            yield invalid((*path, "maxFailedIndexes"), failed, f"at most {_MANY_FAILED} for so many completions")
        if parallelism > _MANY_PARALLEL:
            yield invalid((*path, "parallelism"), parallelism, f"at most {_MANY_PARALLEL} for so many completions")


def _selector(document: Any, spec: Any, name: str) -> Problems:
    """Checks the selector: generated by the API server, or with manualSelector written by the user."""
    selector = dig(spec, "selector")
    if dig(spec, "manualSelector") is True:
        if not isinstance(selector, dict):
            yield missing(("spec", "selector"), "manualSelector: true needs the field")
            return
        yield from label_selector(("spec", "selector"), selector)
        yield from selects_template(document, selector)
        return
    template_labels = dict(pairs(dig(spec, "template", "metadata", "labels")))
    for key in JOB_NAME:
        if template_labels.get(key) not in (None, name):
            where: Path = ("spec", "template", "metadata", "labels", key)
            yield invalid(where, template_labels[key], f"the name of the Job, {name}", "remove the label")
    for key in CONTROLLER_IDS:
        if template_labels.get(key) not in (None, NEW_UID):
            where = ("spec", "template", "metadata", "labels", key)
            yield Problem(where, "the API server sets this label to the uid of the new Job", "remove the label")
    yield from _written_selector(selector)


def _written_selector(selector: Any) -> Problems:
    generated = dict.fromkeys(CONTROLLER_IDS, NEW_UID).items()
    own = [label for label in pairs(dig(selector, "matchLabels")) if label not in generated]
    if own or dig(selector, "matchExpressions"):
        message = "the API server generates the selector of a Job; a written selector does not match the new pods"
        yield Problem(("spec", "selector"), message, "remove selector")


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
