"""Functions for checks of Deployments, StatefulSets and DaemonSets that the table of checks, apps.rows, cannot express.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/apps/validation/validation.go
"""

from typing import Any

from gpuc.admission.validation.constraints import percentage
from gpuc.admission.validation.field import Field, Problems, number, text
from gpuc.objects.object_set import dig, items


def _volumes_of_claims(document: Field) -> Field:
    """Returns a StatefulSet with the volumes that the controller adds to the pods for its volume claims.

    The controller replaces hostname and subdomain, so that the API server does not check them.
    """
    pod, claims = document.get("spec", "template", "spec"), document.rows("spec", "volumeClaimTemplates")
    if not isinstance(pod, dict):
        return document
    names = dict.fromkeys(text(claim.get("metadata", "name")) for claim in claims)
    added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    own = [volume for _, volume in items(pod.get("volumes")) if text(dig(volume, "name")) not in names]
    kept = {key: value for key, value in pod.items() if key not in ("hostname", "subdomain")}
    spec, template = document.value["spec"], document.value["spec"]["template"]
    pod = {**kept, "volumes": [*own, *added]} if added else kept
    return document.reads({**document.value, "spec": {**spec, "template": {**template, "spec": pod}}})


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
