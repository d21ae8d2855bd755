"""What Kueue's webhooks check in new jobs and pods of several kinds: labels and annotations of Kueue.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/validation.go,
pkg/util/webhook/validation_admissiongatedby.go; feature gates with their defaults in pkg/features/kube_features.go
"""

from __future__ import annotations

import re
from typing import Any

from gpuc.admission.validation.constraints import dns_subdomain, domain_path
from gpuc.admission.validation.field import Field, Problems, text
from gpuc.admission.validation.kueue_topology import ANNOTATIONS, LABELS
from gpuc.kubernetes.kueue import GROUP, QUEUE_LABEL

CHECK = "webhook of Kueue"
PREBUILT = f"{GROUP}/prebuilt-workload-name"
MAX_SECONDS = f"{GROUP}/max-exec-time-seconds"
ELASTIC = f"{GROUP}/elastic-job"
GATED_BY = f"{GROUP}/admission-gated-by"
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")


def _queue_and_gates(document: Field) -> Problems:
    queue, gates = document.at(*LABELS, QUEUE_LABEL), document.at(*ANNOTATIONS, GATED_BY)
    yield from dns_subdomain(queue)
    if queue.value == "":
        yield queue.invalid("the name of a LocalQueue")
    names: set[str] = set()
    for gate in (part.strip() for part in gates.text.split(",")) if gates.text.strip() else ():
        yield from domain_path(gates.reads(gate))
        if gate in names:
            yield gates.problem(f"the gate {gate} is named twice")
        names.add(gate)


def _not_elastic(document: Field) -> Problems:
    elastic = document.at(*ANNOTATIONS, ELASTIC)
    if elastic.value == "true":
        yield elastic.problem(f"Kueue has no elastic jobs of kind {document.get('kind')}", "remove the annotation")


def _labels_of_jobs(document: Field) -> Problems:
    annotation = document.at(*ANNOTATIONS, PREBUILT)
    yield from dns_subdomain(annotation if annotation.text else document.at(*LABELS, PREBUILT))
    seconds = document.at(*LABELS, MAX_SECONDS)
    if seconds.value is not None and not is_count(seconds.value):
        yield seconds.invalid("a number of seconds above 0")


def is_count(value: Any) -> bool:
    """Returns whether a value is a number above 0 as text."""
    return _INTEGER.fullmatch(text(value)) is not None and int(value) > 0
