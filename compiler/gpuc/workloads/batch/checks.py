"""Functions for checks of Jobs and CronJobs that the table of checks, batch.rows, cannot express.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/batch/validation/validation.go, pkg/registry/batch/job/strategy.go;
kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/job/job_webhook.go
"""

import re
import zoneinfo
from copy import deepcopy
from typing import Any

from gpuc.admission.validation.changes import ChangedObject, Refusals
from gpuc.admission.validation.constraints import at_least, dns_label
from gpuc.admission.validation.field import Field, Problems, number, text
from gpuc.admission.validation.kueue import ANNOTATIONS, BOOLEANS, ELASTIC, PodSetTemplate, is_count, topology
from gpuc.catalog import load
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import nearest
from gpuc.kubernetes.controllers import JOB_NAME
from gpuc.kubernetes.cron import schedule_error
from gpuc.kubernetes.kueue import GROUP, MIN_PARALLELISM, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from gpuc.workloads.batch.kind import parallel_pods

CONTROLLER_IDS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NEW_UID = "00000000-0000-0000-0000-000000000000"
"""The uid of an object that does not exist yet. The API server generates another one, also if the object has a uid."""
NAME_MAX = 52
"""The maximum length of the name of a CronJob; the controller adds 11 characters to the names of Jobs."""
_TEMPLATE: Path = ("spec", "template")
_SCHEDULING: tuple[Path, ...] = (
    ("metadata",), ("spec", "affinity", "nodeAffinity"), ("spec", "nodeSelector"), ("spec", "tolerations"),
    ("spec", "schedulingGates"),
)  # fmt: skip
"""The fields of the pod template of a Job that may change while the Job is suspended."""
SYNC_COMPLETIONS = f"{GROUP}/job-completions-equal-parallelism"
_ZONE = re.compile(r"(?!.*(?:^|/)(?:\.{1,2}(?:/|$)|-))[-A-Za-z._0-9+]{1,14}(?:/[-A-Za-z._0-9+]{1,14})*")
_INDEXED_MAX, _MANY, _MANY_PARALLEL, _MANY_FAILED = 100_000, 100_000, 10_000, 10_000
_INDEXES_LENGTH_MAX = 64 * 1024
_INDEXES = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")


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


def _name_of_jobs(name: Field) -> Problems:
    if len(name.text) > NAME_MAX:
        message = f"the name of the CronJob has {len(name.text)} characters; at most {NAME_MAX} are allowed"
        yield name.problem(message)


def _cron_schedule(schedule: Field) -> Problems:
    if "TZ" in schedule.text:
        yield schedule.problem("a schedule cannot contain a time zone", "move the time zone to spec.timeZone")
    elif error := schedule_error(schedule.text) if schedule.text else "":
        yield schedule.problem(f'schedule "{schedule.text}" is not a cron schedule: {error}')


def _time_zone(field: Field) -> Problems:
    zone = field.text
    if field.value != zone or zone in load().time_zones:
        return
    known = zoneinfo.available_timezones()
    if not _ZONE.fullmatch(zone) or zone.lower() == "local":
        yield field.invalid("a name of the IANA time zone database such as Europe/Berlin")
    elif not known:
        yield field.not_checked("this machine has no time zone data")
    elif zone not in known:
        suggestion = nearest(zone, sorted(known))
        yield field.invalid("a name of the IANA time zone database", f"write {suggestion}" if suggestion else "")


def _sizes_for_kueue(document: Field) -> Problems:
    """Checks the annotations of Kueue about the number of pods of a Job."""
    spec, annotations = document.at("spec"), document.at(*ANNOTATIONS)
    minimum, pods = annotations.at(MIN_PARALLELISM), parallel_pods(spec.value)
    if minimum.value is not None:
        if not (is_count(minimum.value) and int(minimum.text) < pods):
            yield minimum.invalid(f"a number as text, above 0 and below the {pods} pods of the Job")
        if annotations.get(ELASTIC) == "true":
            yield minimum.problem("partial admission and elastic jobs cannot be used together")
    sync = annotations.at(SYNC_COMPLETIONS)
    if sync.value is not None and sync.text not in BOOLEANS:
        yield sync.invalid('"true" or "false"')
    elif BOOLEANS.get(sync.text):
        if spec.get("completionMode") != "Indexed":
            yield sync.problem("the annotation needs completionMode Indexed")
        if (number(spec.get("parallelism")) or 1) != (number(spec.get("completions")) or 1):
            message = f"completions must be equal to parallelism with {SYNC_COMPLETIONS}"
            yield spec.at("completions").problem(message)


def _topology_of_job(document: Field) -> Problems:
    annotations = document.at("spec", "template", *ANNOTATIONS)
    problems = list(topology(PodSetTemplate(annotations, parallel_pods(document.get("spec")))))
    yield from problems
    if not problems and document.get(*ANNOTATIONS, ELASTIC) == "true":
        for name in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY):
            if annotations.get(name) is not None:
                yield annotations.at(name).problem(f"elastic jobs do not support {name}")


def _generate_labels(document: Field) -> Problems:
    """Sets the labels and the selector that the API server generates."""
    spec, metadata = document.get("spec"), _child(document.value, "metadata")
    if not isinstance(spec, dict):
        return
    own = _child(_child(_child(spec, "template"), "metadata"), "labels")
    if own and not metadata.get("labels"):
        metadata["labels"] = own  # the API server shares the map, and adds the generated labels to both
    if spec["manualSelector"] is True:
        return
    generated = {**dict.fromkeys(JOB_NAME, metadata.get("name") or ""), **dict.fromkeys(CONTROLLER_IDS, NEW_UID)}
    own.update({key: value for key, value in generated.items() if not own.get(key)})
    selected = _child(_child(spec, "selector"), "matchLabels")
    selected[CONTROLLER_IDS[1]] = selected.get(CONTROLLER_IDS[1]) or NEW_UID
    metadata["labels"] = deepcopy(metadata.get("labels") or {})
    if not metadata["labels"]:
        del metadata["labels"]
    yield from ()


def _child(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns a map in a map, after adding a missing one. A value of another type is not changed."""
    value = fields.setdefault(name, {})
    return value if isinstance(value, dict) else {}


def _completions_unless_indexed(job: ChangedObject) -> Refusals:
    if job.values("spec", "completionMode")[1] != "Indexed" and job.changes("spec", "completions"):
        yield ("spec", "completions"), "the field spec.completions is immutable"


def _template_unless_suspended(job: ChangedObject) -> Refusals:
    """Yields the first changed field of the pod template, except fields for scheduling while the Job is suspended."""
    mutable = _SCHEDULING if job.values("spec", "suspend")[0] is True else ()
    changed = [
        field.path
        for field in job.fields
        if field.is_below(*_TEMPLATE) and not any(field.is_below(*_TEMPLATE, *path) for path in mutable)
    ]
    yield from ((path, "the pod template of a Job is immutable") for path in changed[:1])
