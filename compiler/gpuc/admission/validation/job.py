"""Jobs.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/batch/validation/validation.go, pkg/registry/batch/job/strategy.go
"""

from __future__ import annotations

from typing import Any

from gpuc.admission.validation.job_policies import pod_failure_policy, success_policy
from gpuc.admission.validation.pod import pod_template
from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    at_least,
    dns_label,
    domain_path,
    invalid,
    missing,
    number,
    one_of,
    text,
)
from gpuc.admission.validation.selectors import label_selector, selects_template
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, pairs
from gpuc.objects.pods import JOB_NAME

CONTROLLER_IDS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NEW_UID = "00000000-0000-0000-0000-000000000000"
"""The uid of an object that does not exist yet. The API server generates another one, also if the object has a uid."""
_COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_INDEXED_MAX, _MANY, _MANY_PARALLEL, _MANY_FAILED = 100_000, 100_000, 10_000, 10_000


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
