"""Kueue's webhooks for new jobs and pods: labels and annotations of Kueue, and the fields of Ray that they restrict.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/validation.go, pkg/controller/jobs/*/*_webhook.go,
pkg/util/webhook/validation_admissiongatedby.go; feature gates with their defaults in pkg/features/kube_features.go
"""

from __future__ import annotations

import re
from typing import Any

from gpuc.admission.validation.constraints import dns_subdomain, domain_path
from gpuc.admission.validation.field import Field, Problems, number, text
from gpuc.admission.validation.kueue_topology import (
    ANNOTATIONS,
    BOOLEANS,
    LABELS,
    pod_set_groups,
    pod_set_templates,
    pods_of_job,
    topology_request,
)
from gpuc.kubernetes.kueue import (
    GROUP,
    MANAGED_LABEL,
    MIN_PARALLELISM,
    PREFERRED_TOPOLOGY,
    QUEUE_LABEL,
    REQUIRED_TOPOLOGY,
)

CHECK = "webhook of Kueue"
PREBUILT = f"{GROUP}/prebuilt-workload-name"
MAX_SECONDS = f"{GROUP}/max-exec-time-seconds"
SYNC_COMPLETIONS = f"{GROUP}/job-completions-equal-parallelism"
ELASTIC = f"{GROUP}/elastic-job"
GATED_BY = f"{GROUP}/admission-gated-by"
GROUP_NAME, GROUP_TOTAL = f"{GROUP}/pod-group-name", f"{GROUP}/pod-group-total-count"
_SUSPENDED_BY_PARENT = f"{GROUP}/pod-suspending-parent"
_ELASTIC_KINDS = ("Job", "RayCluster", "RayJob", "RayService")
_SERVING_KINDS = ("Deployment", "StatefulSet", "LeaderWorkerSet")
_POD_SETS_MAX = 18
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")


def _kueue(document: Field) -> Problems:
    kind = document.get("kind")
    template_annotations = document.at("spec", "template", "metadata", "annotations")
    if kind == "StatefulSet" and template_annotations.get(_SUSPENDED_BY_PARENT) not in (None, "statefulset"):
        return
    queue, elastic = document.at(*LABELS, QUEUE_LABEL), document.at(*ANNOTATIONS, ELASTIC)
    yield from dns_subdomain(queue)
    if queue.value == "":
        yield queue.invalid("the name of a LocalQueue")
    yield from _gates(document.at(*ANNOTATIONS, GATED_BY))
    if elastic.value == "true" and kind not in _ELASTIC_KINDS:
        yield elastic.problem(f"Kueue has no elastic jobs of kind {kind}", "remove the annotation")
    if kind not in _SERVING_KINDS:
        yield from _job_labels(document)
    if check := _KINDS.get(str(kind)):
        yield from check(document)
    yield from _topology(document)


def _job_labels(document: Field) -> Problems:
    annotation = document.at(*ANNOTATIONS, PREBUILT)
    yield from dns_subdomain(annotation if annotation.text else document.at(*LABELS, PREBUILT))
    seconds = document.at(*LABELS, MAX_SECONDS)
    if seconds.value is not None and not _is_count(seconds.value):
        yield seconds.invalid("a number of seconds above 0")


def _is_count(value: Any) -> bool:
    """Returns whether a value is a number above 0 as text."""
    return _INTEGER.fullmatch(text(value)) is not None and int(value) > 0


def _gates(field: Field) -> Problems:
    names: set[str] = set()
    for gate in (part.strip() for part in field.text.split(",")) if field.text.strip() else ():
        yield from domain_path(field.reads(gate))
        if gate in names:
            yield field.problem(f"the gate {gate} is named twice")
        names.add(gate)


def _job(document: Field) -> Problems:
    spec, annotations = document.at("spec"), document.at(*ANNOTATIONS)
    minimum, pods = annotations.at(MIN_PARALLELISM), pods_of_job(spec.value)
    if minimum.value is not None:
        if not (_is_count(minimum.value) and int(minimum.text) < pods):
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


def _pod(document: Field) -> Problems:
    labels, annotations = document.at(*LABELS), document.at(*ANNOTATIONS)
    managed, total = labels.at(MANAGED_LABEL), annotations.at(GROUP_TOTAL)
    if managed.value not in (None, "true"):
        yield managed.invalid('"true"')
    group = (annotations if text(annotations.get(GROUP_NAME)) else labels).at(GROUP_NAME)
    if not group.text:
        if total.value is not None:
            yield group.missing(f"the annotation {GROUP_TOTAL} needs the name of the group")
        return
    yield from dns_subdomain(group)
    if total.value is None:
        yield total.missing(f"{GROUP_NAME} needs the number of pods in the group")
    elif not _is_count(total.value):
        yield total.invalid("a number as text, 1 or more")
    prebuilt = text(annotations.get(PREBUILT)) or text(labels.get(PREBUILT))
    if prebuilt and prebuilt != group.text:
        yield labels.at(PREBUILT).problem(f"the prebuilt workload {prebuilt} is not the pod group {group.text}")


def _autoscaling(field: Field) -> Problems:
    if field.value is True and field.root.get(*ANNOTATIONS, ELASTIC) != "true":
        yield field.problem(f'Kueue allows autoscaling only with the annotation {ELASTIC}: "true"')


def _number_of_groups(field: Field) -> Problems:
    count = len(list(field.rows()))
    if count + 1 > _POD_SETS_MAX:
        yield field.problem(f"{count} groups; Kueue allows at most {_POD_SETS_MAX - 1}")


def _topology(document: Field) -> Problems:
    """Checks the annotations of the pod templates for Topology Aware Scheduling."""
    kind, templates = document.get("kind"), list(pod_set_templates(document))
    problems = [problem for template in templates for problem in topology_request(template)]
    yield from problems
    if kind in ("JobSet", "MPIJob", "RayJob", "RayCluster", "LeaderWorkerSet"):
        yield from pod_set_groups(templates)
    if kind == "Job" and not problems and document.get(*ANNOTATIONS, ELASTIC) == "true":
        for annotations in (template.annotations for template in templates):
            for name in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY):
                if annotations.get(name) is not None:
                    yield annotations.at(name).problem(f"elastic jobs do not support {name}")


_KINDS = {"Job": _job, "Pod": _pod}
