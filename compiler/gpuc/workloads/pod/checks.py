"""Functions for checks of Kueue's webhook for pods that the table of checks, pod.rows, cannot express.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/pod/pod_webhook.go
"""

from gpuc.admission.documents import CONTAINERS
from gpuc.admission.mutating import set_default_requests
from gpuc.admission.validation.constraints import dns_subdomain
from gpuc.admission.validation.field import Field, Problems, text
from gpuc.admission.validation.kueue import ANNOTATIONS, LABELS, PREBUILT, PodSetTemplate, is_count, topology
from gpuc.kubernetes.kueue import GROUP, MANAGED_LABEL, POD_GROUP_TOTAL

POD_GROUP = f"{GROUP}/pod-group-name"


def _groups_of_pods(document: Field) -> Problems:
    labels, annotations = document.at(*LABELS), document.at(*ANNOTATIONS)
    managed, total = labels.at(MANAGED_LABEL), annotations.at(POD_GROUP_TOTAL)
    if managed.value not in (None, "true"):
        yield managed.invalid('"true"')
    group = (annotations if text(annotations.get(POD_GROUP)) else labels).at(POD_GROUP)
    if not group.text:
        if total.value is not None:
            yield group.missing(f"the annotation {POD_GROUP_TOTAL} needs the name of the group")
        return
    yield from dns_subdomain(group)
    if total.value is None:
        yield total.missing(f"{POD_GROUP} needs the number of pods in the group")
    elif not is_count(total.value):
        yield total.invalid("a number as text, 1 or more")
    prebuilt = text(annotations.get(PREBUILT)) or text(labels.get(PREBUILT))
    if prebuilt and prebuilt != group.text:
        yield labels.at(PREBUILT).problem(f"the prebuilt workload {prebuilt} is not the pod group {group.text}")


def _topology_of_pod(document: Field) -> Problems:
    yield from topology(PodSetTemplate(document.at(*ANNOTATIONS), None))


def _ports_and_requests(spec: Field) -> Problems:
    """Sets the host ports of a pod in the network of the host, and missing requests."""
    if not isinstance(spec.value, dict):
        return
    containers = (row for field in CONTAINERS for row in spec.rows(field)) if spec.get("hostNetwork") is True else ()
    for port in (port.value for container in containers for port in container.rows("ports")):
        if isinstance(port, dict) and not port.get("hostPort") and "containerPort" in port:
            port["hostPort"] = port["containerPort"]
    set_default_requests(spec.value)
    yield from ()
