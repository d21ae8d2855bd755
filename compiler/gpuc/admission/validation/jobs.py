"""Checks of Jobs, Deployments, StatefulSets and DaemonSets that are more than a row of a table.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/batch/validation/validation.go, pkg/registry/batch/job/strategy.go,
pkg/apis/apps/validation/validation.go
"""

from __future__ import annotations

import re
from typing import Any

from gpuc.admission.validation.constraints import at_least, dns_label, percentage
from gpuc.admission.validation.field import Field, Problems, number, text
from gpuc.kubernetes.controllers import JOB_NAME
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig, items

CONTROLLER_IDS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NEW_UID = "00000000-0000-0000-0000-000000000000"
"""The uid of an object that does not exist yet. The API server generates another one, also if the object has a uid."""
_INDEXED_MAX, _MANY, _MANY_PARALLEL, _MANY_FAILED = 100_000, 100_000, 10_000, 10_000
_INDEXES_LENGTH_MAX = 64 * 1024
_INDEXES = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")


def with_claims(document: Body) -> Body:
    """Returns a StatefulSet with the volumes that the controller adds to the pods for its volume claims.

    The controller replaces hostname and subdomain, so that the API server does not check them.
    """
    pod, claims = dig(document, "spec", "template", "spec"), items(dig(document, "spec", "volumeClaimTemplates"))
    if not isinstance(pod, dict):
        return document
    names = dict.fromkeys(text(dig(claim, "metadata", "name")) for _, claim in claims)
    added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    own = [volume for _, volume in items(pod.get("volumes")) if text(dig(volume, "name")) not in names]
    kept = {key: value for key, value in pod.items() if key not in ("hostname", "subdomain")}
    spec, template = document["spec"], document["spec"]["template"]
    pod = {**kept, "volumes": [*own, *added]} if added else kept
    return {**document, "spec": {**spec, "template": {**template, "spec": pod}}}


def _hostnames(document: Field) -> Problems:
    """Checks the longest hostname of the pods of an indexed Job."""
    completions = number(document.get("spec", "completions"))
    if document.get("spec", "completionMode") == "Indexed" and completions and completions > 0:
        name = document.at("metadata", "name")
        longest = f"{name.text}-{completions - 1}"
        if any(dns_label(name.reads(longest))):
            allowed = "expected a DNS label of at most 63 characters"
            yield name.problem(f'the hostname of a pod would be "{longest}"; {allowed}')


def _indexed(spec: Field) -> Problems:
    """Checks the numbers of a Job with completionMode Indexed."""
    completions, parallelism = number(spec.get("completions")), number(spec.get("parallelism")) or 0
    failed, per_index = number(spec.get("maxFailedIndexes")), spec.get("backoffLimitPerIndex")
    if completions is None or spec.get("completionMode") != "Indexed":
        return
    if parallelism > _INDEXED_MAX:
        yield spec.at("parallelism").invalid(f"at most {_INDEXED_MAX} with completionMode Indexed")
    if failed is not None and failed > min(completions, _INDEXED_MAX):
        yield spec.at("maxFailedIndexes").invalid(f"at most {min(completions, _INDEXED_MAX)}")
    if completions > _MANY and per_index is not None:
        if failed is None:
            yield spec.at("maxFailedIndexes").missing(f"more than {_MANY} completions need the field")
        elif failed > _MANY_FAILED:
            yield spec.at("maxFailedIndexes").invalid(f"at most {_MANY_FAILED} for so many completions")
        if parallelism > _MANY_PARALLEL:
            yield spec.at("parallelism").invalid(f"at most {_MANY_PARALLEL} for so many completions")


def _generated_selector(document: Field) -> Problems:
    """Checks that a Job has no selector, and no labels that the API server generates."""
    name, labels = (
        text(document.get("metadata", "name")),
        dict(document.entries("spec", "template", "metadata", "labels")),
    )
    for label in (labels[key] for key in JOB_NAME if key in labels):
        if label.value not in (None, name):
            yield label.invalid(f"the name of the Job, {name}", "remove the label")
    for label in (labels[key] for key in CONTROLLER_IDS if key in labels):
        if label.value not in (None, NEW_UID):
            yield label.problem("the API server sets this label to the uid of the new Job", "remove the label")
    selector, generated = document.at("spec", "selector"), dict.fromkeys(CONTROLLER_IDS, NEW_UID).items()
    own = [key for key, label in selector.entries("matchLabels") if (key, label.value) not in generated]
    if own or selector.get("matchExpressions"):
        message = "the API server generates the selector of a Job; a written selector does not match the new pods"
        yield selector.problem(message, "remove selector")


def _container_of_pod(name: Field) -> Problems:
    pod = name.within("job").at("template", "spec")
    names = {text(row.get("name")) for field in ("containers", "initContainers") for row in pod.rows(field)}
    if name.value not in names:
        yield name.invalid(f"a container of the pod: {', '.join(sorted(names))}")


def _exit_codes(field: Field) -> Problems:
    values = [row.number for row in field.rows() if row.number is not None]
    if len(set(values)) < len(values) or values != sorted(values):
        yield field.problem("the exit codes must be sorted and different", f"write {sorted(set(values))}")
    if field.beside("operator") == "In" and 0 in values:
        yield field.problem("the operator In does not allow the exit code 0, which is a success")


def _succeeded(rule: Field) -> Problems:
    """Checks the indexes and the count of a rule of a success policy."""
    completions, indexes = number(rule.within("job").get("completions")) or 0, rule.at("succeededIndexes")
    problems = list(_indexes(indexes, completions))
    yield from problems
    total = completions if problems or not isinstance(indexes.value, str) else _total(indexes.text)
    yield from at_least(rule.at("succeededCount"), 0, min(total, completions))


def _indexes(field: Field, completions: int) -> Problems:
    """Checks indexes such as 0,2-4: increasing numbers below the number of completions."""
    if len(field.text) > _INDEXES_LENGTH_MAX:
        yield field.problem(f"{len(field.text)} characters; at most {_INDEXES_LENGTH_MAX} are allowed")
    elif field.text and not _INDEXES.fullmatch(field.text):
        yield field.invalid("indexes in increasing order such as 0,2-4")
    elif field.text:
        ends = [int(end) for interval in field.text.split(",") for end in interval.split("-")]
        if max(ends) >= completions:
            yield field.invalid(f"indexes below the {completions} completions")
        if ends != sorted(set(ends)):
            yield field.invalid("indexes in increasing order such as 0,2-4")


def _total(indexes: str) -> int:
    ends = (interval.split("-") for interval in indexes.split(",") if interval)
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)


def _is_zero(value: Any) -> bool:
    return number(value) == 0 or percentage(value) == 0


def _can_replace(rolling: Field) -> Problems:
    if _is_zero(rolling.get("maxUnavailable")) and _is_zero(rolling.get("maxSurge")):
        message = "maxUnavailable and maxSurge are both 0, so that no pod can be replaced"
        yield rolling.at("maxUnavailable").problem(message, "write maxUnavailable: 1")


def _rolling_update_of_daemons(rolling: Field) -> Problems:
    has_unavailable, has_surge = (not _is_zero(rolling.get(field)) for field in ("maxUnavailable", "maxSurge"))
    if has_unavailable and has_surge:
        yield rolling.at("maxSurge").problem("maxUnavailable and maxSurge are both set", "write maxUnavailable: 0")
    elif not has_unavailable and not has_surge:
        yield rolling.at("maxUnavailable").problem("maxUnavailable and maxSurge are both 0", "write maxUnavailable: 1")


def _progress_deadline(deadline: Field) -> Problems:
    ready = number(deadline.beside("minReadySeconds")) or 0
    if deadline.number is not None and deadline.number <= ready:
        yield deadline.invalid(f"more than minReadySeconds, which is {ready}")
