"""Deployments, StatefulSets, ReplicaSets and DaemonSets.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/apps/validation/validation.go
"""

from __future__ import annotations

from typing import Any

from gpuc.admission.validation.metadata import required_selector
from gpuc.admission.validation.pod import pod_template
from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    at_least,
    count_or_percent,
    dns_label,
    invalid,
    number,
    one_of,
    percentage,
    text,
)
from gpuc.admission.validation.volumes import volume_claim
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items

_COUNTS = ("replicas", "minReadySeconds")
_STRATEGY: Path = ("spec", "strategy")
_UPDATE: Path = ("spec", "updateStrategy")
_ROLLING, _RECREATE, _ON_DELETE = "RollingUpdate", "Recreate", "OnDelete"


def deployment(document: Any) -> Problems:
    """Checks the spec of a Deployment, with the API server's defaults."""
    spec = dig(document, "spec")
    yield from _workload(document, "Deployment", dig(spec, "template"))
    strategy = dig(spec, "strategy")
    rolling = dig(strategy, "rollingUpdate")
    yield from one_of((*_STRATEGY, "type"), dig(strategy, "type") or None, (_RECREATE, _ROLLING))
    if dig(strategy, "type") == _RECREATE:
        if rolling is not None:
            message = f"the strategy {_RECREATE} allows no rollingUpdate"
            yield Problem((*_STRATEGY, "rollingUpdate"), message, "remove rollingUpdate")
    else:
        for field in ("maxUnavailable", "maxSurge"):
            path: Path = (*_STRATEGY, "rollingUpdate", field)
            yield from count_or_percent(path, dig(rolling, field), has_maximum=field == "maxUnavailable")
        if _is_zero(dig(rolling, "maxUnavailable")) and _is_zero(dig(rolling, "maxSurge")):
            message = "maxUnavailable and maxSurge are both 0, so that no pod can be replaced"
            yield Problem((*_STRATEGY, "rollingUpdate", "maxUnavailable"), message, "write maxUnavailable: 1")
    yield from at_least(("spec", "revisionHistoryLimit"), dig(spec, "revisionHistoryLimit"), 0)
    yield from _progress_deadline(spec)


def stateful_set(document: Any) -> Problems:
    """Checks the spec of a StatefulSet, with the API server's defaults."""
    spec = dig(document, "spec")
    claims = [claim for _, claim in items(dig(spec, "volumeClaimTemplates"))]
    yield from _workload(document, "StatefulSet", _with_claims(dig(spec, "template"), claims))
    policies = ("OrderedReady", "Parallel")
    yield from one_of(("spec", "podManagementPolicy"), dig(spec, "podManagementPolicy"), policies)
    strategy = dig(spec, "updateStrategy")
    rolling, kind = dig(strategy, "rollingUpdate"), dig(strategy, "type")
    yield from one_of((*_UPDATE, "type"), kind or None, (_ROLLING, _ON_DELETE))
    if kind == _ON_DELETE and rolling is not None:
        message = f"the strategy {_ON_DELETE} allows no rollingUpdate"
        yield Problem((*_UPDATE, "rollingUpdate"), message, "remove rollingUpdate")
    elif rolling is not None:
        yield from at_least((*_UPDATE, "rollingUpdate", "partition"), dig(rolling, "partition"), 0)
    for field in ("whenDeleted", "whenScaled"):
        path: Path = ("spec", "persistentVolumeClaimRetentionPolicy", field)
        yield from one_of(path, dig(document, *path), ("Retain", "Delete"))
    yield from dns_label(("spec", "serviceName"), dig(spec, "serviceName"))
    yield from at_least(("spec", "ordinals", "start"), dig(spec, "ordinals", "start"), 0)
    for index, claim in enumerate(claims):
        yield from volume_claim(("spec", "volumeClaimTemplates", index, "spec"), dig(claim, "spec"))


def replica_set(document: Any) -> Problems:
    """Checks the spec of a ReplicaSet, with the API server's defaults."""
    yield from _workload(document, "ReplicaSet", dig(document, "spec", "template"))


def daemon_set(document: Any) -> Problems:
    """Checks the spec of a DaemonSet, with the API server's defaults."""
    spec = dig(document, "spec")
    yield from _workload(document, "DaemonSet", dig(spec, "template"))
    yield from at_least(("spec", "revisionHistoryLimit"), dig(spec, "revisionHistoryLimit"), 0)
    strategy = dig(spec, "updateStrategy")
    rolling, path = dig(strategy, "rollingUpdate"), (*_UPDATE, "rollingUpdate")
    yield from one_of((*_UPDATE, "type"), dig(strategy, "type") or None, (_ROLLING, _ON_DELETE))
    if dig(strategy, "type") != _ROLLING:
        return
    for field in ("maxUnavailable", "maxSurge"):
        yield from count_or_percent((*path, field), dig(rolling, field))
    has_unavailable, has_surge = (not _is_zero(dig(rolling, field)) for field in ("maxUnavailable", "maxSurge"))
    if has_unavailable and has_surge:
        yield Problem((*path, "maxSurge"), "maxUnavailable and maxSurge are both set", "write maxUnavailable: 0")
    elif not has_unavailable and not has_surge:
        yield Problem((*path, "maxUnavailable"), "maxUnavailable and maxSurge are both 0", "write maxUnavailable: 1")


def _workload(document: Any, kind: str, template: Any) -> Problems:
    """Checks the fields that all these kinds have: counts, the selector, and a template of pods that run forever."""
    spec = dig(document, "spec")
    for field in _COUNTS:
        yield from at_least(("spec", field), dig(spec, field), 0)
    yield from required_selector(document, kind)
    yield from pod_template(("spec", "template"), template)
    pod = dig(template, "spec")
    if text(dig(pod, "restartPolicy")) not in ("", "Always"):
        path: Path = ("spec", "template", "spec", "restartPolicy")
        yield invalid(path, dig(pod, "restartPolicy"), f"Always in a {kind}", "write restartPolicy: Always")
    if dig(pod, "activeDeadlineSeconds") is not None:
        path = ("spec", "template", "spec", "activeDeadlineSeconds")
        yield Problem(path, f"the pods of a {kind} cannot have activeDeadlineSeconds", "remove the field")


def _with_claims(template: Any, claims: list[Any]) -> Any:
    """Returns the template with the volumes that a StatefulSet adds for its volume claims.

    The controller replaces hostname and subdomain, so that the API server does not check them.
    """
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        return template
    names = dict.fromkeys(text(dig(claim, "metadata", "name")) for claim in claims)
    added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    own = [volume for _, volume in items(dig(template, "spec", "volumes")) if text(dig(volume, "name")) not in names]
    kept = {key: value for key, value in template["spec"].items() if key not in ("hostname", "subdomain")}
    return {**template, "spec": {**kept, "volumes": [*own, *added]} if added else kept}


def _is_zero(value: Any) -> bool:
    return number(value) == 0 or percentage(value) == 0


def _progress_deadline(spec: Any) -> Problems:
    deadline, ready = number(dig(spec, "progressDeadlineSeconds")), number(dig(spec, "minReadySeconds")) or 0
    path: Path = ("spec", "progressDeadlineSeconds")
    yield from at_least(path, deadline, 0)
    if deadline is not None and deadline <= ready:
        yield invalid(path, deadline, f"more than minReadySeconds, which is {ready}")
