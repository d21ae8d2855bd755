"""Kueue's webhooks for new jobs and pods: labels and annotations of Kueue, and the fields of Ray that they restrict.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/validation.go, pkg/controller/jobs/*/*_webhook.go,
pkg/util/webhook/validation_admissiongatedby.go; feature gates with their defaults in pkg/features/kube_features.go
"""

from __future__ import annotations

import re
from typing import Any

from gpuc.admission.validation.kueue_topology import (
    ANNOTATIONS,
    BOOLEANS,
    LABELS,
    PodSetTemplate,
    pod_set_groups,
    pod_set_templates,
    pods_of_job,
    topology_request,
)
from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    dns_subdomain,
    domain_path,
    invalid,
    missing,
    number,
    repeated,
    text,
)
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import (
    GROUP,
    MANAGED_LABEL,
    MIN_PARALLELISM,
    PREFERRED_TOPOLOGY,
    QUEUE_LABEL,
    REQUIRED_TOPOLOGY,
)
from gpuc.objects.object_set import dig, items

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
_POD_SETS_MAX, _REPLICAS_MAX = 18, 1_000_000
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")


def kueue(document: Any) -> Problems:
    """Checks an object of a kind that Kueue manages, as Kueue's webhook for the kind does."""
    for problem in _kueue(document, dig(document, "kind")):
        yield problem._replace(check=CHECK)


def _kueue(document: Any, kind: str) -> Problems:
    template_annotations = dig(document, "spec", "template", "metadata", "annotations")
    if kind == "StatefulSet" and dig(template_annotations, _SUSPENDED_BY_PARENT) not in (None, "statefulset"):
        return
    yield from dns_subdomain((*LABELS, QUEUE_LABEL), dig(document, *LABELS, QUEUE_LABEL))
    if dig(document, *LABELS, QUEUE_LABEL) == "":
        yield invalid((*LABELS, QUEUE_LABEL), "", "the name of a LocalQueue")
    yield from _gates(document)
    if dig(document, *ANNOTATIONS, ELASTIC) == "true" and kind not in _ELASTIC_KINDS:
        yield Problem((*ANNOTATIONS, ELASTIC), f"Kueue has no elastic jobs of kind {kind}", "remove the annotation")
    if kind not in _SERVING_KINDS:
        yield from _job_labels(document)
    if kind == "Job":
        yield from _job(document)
    elif kind == "Pod":
        yield from _pod(document)
    elif kind in ("RayJob", "RayCluster"):
        yield from _ray(document, kind)
    elif kind == "LeaderWorkerSet" and (number(dig(document, "spec", "replicas")) or 0) > _REPLICAS_MAX:
        yield invalid(("spec", "replicas"), dig(document, "spec", "replicas"), f"at most {_REPLICAS_MAX}")
    yield from _topology(document, kind)


def _job_labels(document: Any) -> Problems:
    if text(dig(document, *ANNOTATIONS, PREBUILT)):
        yield from dns_subdomain((*ANNOTATIONS, PREBUILT), dig(document, *ANNOTATIONS, PREBUILT))
    else:
        yield from dns_subdomain((*LABELS, PREBUILT), dig(document, *LABELS, PREBUILT))
    seconds = dig(document, *LABELS, MAX_SECONDS)
    if seconds is not None and not (_INTEGER.fullmatch(text(seconds)) and int(seconds) > 0):
        yield invalid((*LABELS, MAX_SECONDS), seconds, "a number of seconds above 0")


def _gates(document: Any) -> Problems:
    value, path = text(dig(document, *ANNOTATIONS, GATED_BY)), (*ANNOTATIONS, GATED_BY)
    names: set[str] = set()
    for gate in (part.strip() for part in value.split(",")) if value.strip() else ():
        yield from domain_path(path, gate)
        yield from repeated(path, gate, names, f"the gate {gate} is named twice")


def _job(document: Any) -> Problems:
    spec = dig(document, "spec")
    minimum, pods = dig(document, *ANNOTATIONS, MIN_PARALLELISM), pods_of_job(spec)
    path: Path = (*ANNOTATIONS, MIN_PARALLELISM)
    if minimum is not None:
        if not (_INTEGER.fullmatch(text(minimum)) and 0 < int(minimum) < pods):
            yield invalid(path, minimum, f"a number as text, above 0 and below the {pods} pods of the Job")
        if dig(document, *ANNOTATIONS, ELASTIC) == "true":
            yield Problem(path, "partial admission and elastic jobs cannot be used together")
    sync = dig(document, *ANNOTATIONS, SYNC_COMPLETIONS)
    if sync is None:
        return
    path = (*ANNOTATIONS, SYNC_COMPLETIONS)
    if sync not in BOOLEANS:
        yield invalid(path, sync, '"true" or "false"')
    elif BOOLEANS[sync]:
        if dig(spec, "completionMode") != "Indexed":
            yield Problem(path, "the annotation needs completionMode Indexed")
        if (number(dig(spec, "parallelism")) or 1) != (number(dig(spec, "completions")) or 1):
            yield Problem(("spec", "completions"), f"completions must be equal to parallelism with {SYNC_COMPLETIONS}")


def _pod(document: Any) -> Problems:
    managed = dig(document, *LABELS, MANAGED_LABEL)
    if managed not in (None, "true"):
        yield invalid((*LABELS, MANAGED_LABEL), managed, '"true"')
    annotated = text(dig(document, *ANNOTATIONS, GROUP_NAME))
    group = annotated or text(dig(document, *LABELS, GROUP_NAME))
    path: Path = (*ANNOTATIONS, GROUP_NAME) if annotated else (*LABELS, GROUP_NAME)
    total = dig(document, *ANNOTATIONS, GROUP_TOTAL)
    if not group:
        if total is not None:
            yield missing(path, f"the annotation {GROUP_TOTAL} needs the name of the group")
        return
    yield from dns_subdomain(path, group)
    if total is None:
        yield missing((*ANNOTATIONS, GROUP_TOTAL), f"{GROUP_NAME} needs the number of pods in the group")
    elif not (_INTEGER.fullmatch(text(total)) and int(total) >= 1):
        yield invalid((*ANNOTATIONS, GROUP_TOTAL), total, "a number as text, 1 or more")
    prebuilt = text(dig(document, *ANNOTATIONS, PREBUILT)) or text(dig(document, *LABELS, PREBUILT))
    if prebuilt and prebuilt != group:
        yield Problem((*LABELS, PREBUILT), f"the prebuilt workload {prebuilt} is not the pod group {group}")


def _ray(document: Any, kind: str) -> Problems:
    """Checks a RayJob or RayCluster with a queue. Without a queue, Kueue checks only the labels."""
    if not text(dig(document, *LABELS, QUEUE_LABEL)):
        return
    if kind == "RayCluster":
        yield from _ray_cluster(document, ("spec",))
        return
    spec, path = dig(document, "spec"), ("spec",)
    cluster, selector = dig(spec, "rayClusterSpec"), dig(spec, "clusterSelector")
    if selector and cluster is not None:
        message = "clusterSelector and rayClusterSpec are both set, and Kueue allows no existing cluster"
        yield Problem((*path, "clusterSelector"), message, "remove clusterSelector")
    elif not selector and cluster is None:
        yield missing((*path, "rayClusterSpec"))
    elif not selector:
        if dig(spec, "shutdownAfterJobFinishes") is not True:
            message = "Kueue needs shutdownAfterJobFinishes: true, so that a finished job gives its quota back"
            yield Problem((*path, "shutdownAfterJobFinishes"), message, "write shutdownAfterJobFinishes: true")
        yield from _ray_cluster(document, (*path, "rayClusterSpec"))


def _ray_cluster(document: Any, path: Path) -> Problems:
    cluster = dig(document, *path)
    if dig(cluster, "enableInTreeAutoscaling") is True and dig(document, *ANNOTATIONS, ELASTIC) != "true":
        message = f'Kueue allows autoscaling only with the annotation {ELASTIC}: "true"'
        yield Problem((*path, "enableInTreeAutoscaling"), message)
    groups = list(items(dig(cluster, "workerGroupSpecs")))
    if len(groups) + 1 > _POD_SETS_MAX:
        yield Problem((*path, "workerGroupSpecs"), f"{len(groups)} groups; Kueue allows at most {_POD_SETS_MAX - 1}")
    for index, group in groups:
        if dig(group, "groupName") == "head":
            yield Problem((*path, "workerGroupSpecs", index, "groupName"), "the name head is reserved")


def _topology(document: Any, kind: str) -> Problems:
    """Checks the annotations of the pod templates for Topology Aware Scheduling."""
    templates: list[PodSetTemplate] = list(pod_set_templates(document))
    problems = [problem for template in templates for problem in topology_request(template)]
    yield from problems
    if kind in ("JobSet", "MPIJob", "RayJob", "RayCluster", "LeaderWorkerSet"):
        yield from pod_set_groups(templates)
    if kind == "Job" and not problems and dig(document, *ANNOTATIONS, ELASTIC) == "true":
        for template in templates:
            for name in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY):
                if dig(template.metadata, "annotations", name) is not None:
                    yield Problem((*template.path, "annotations", name), f"elastic jobs do not support {name}")
