"""The API server's defaults of pods and pod templates. All functions change their argument.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/defaults.go, zz_generated.defaults.go, conversion.go
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpuc.admission.pod_defaults import set_default_requests
from gpuc.objects.object_set import dig, items

Fields = dict[str, Any]
_FILE_MODE = 0o644
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_POD = {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"}
_IMAGE = re.compile(
    r"(?:(?:localhost|[-A-Za-z0-9]*[A-Z.][-A-Za-z0-9.]*|[-A-Za-z0-9.]+(?=:))(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+|/)[a-z0-9]+)*(?::(?P<tag>\w[\w.-]{0,127}))?(?P<digest>@[a-z0-9+._-]+:[0-9a-f]{32,})?"
)
"""An image: registry, path, tag and digest. The first part of the name is a registry if it contains ., : or A to Z."""
_MODE_SOURCES = ("secret", "configMap", "downwardAPI", "projected")


def fill(fields: Any, defaults: Fields) -> None:
    """Sets the missing fields of a map. An empty string is missing too, as in Go; 0 and false are not."""
    if isinstance(fields, dict):
        for name, value in defaults.items():
            current = fields.get(name)
            if current is None or (current == "" and isinstance(value, str)):
                fields[name] = value


def fill_pointers(fields: Any, defaults: Fields) -> None:
    """Sets the missing fields of a map, if an empty string is a value and not missing: for pointers in Go."""
    if isinstance(fields, dict):
        for name, value in defaults.items():
            if fields.get(name) is None:
                fields[name] = value


def maps(value: Any) -> Iterator[Fields]:
    """Yields the items of a list that are maps."""
    return (item for _, item in items(value) if isinstance(item, dict))


def child(fields: Fields, name: str) -> Fields:
    """Returns a map in a map, after creating a missing one. A value of another type is not changed."""
    value = fields.setdefault(name, {})
    return value if isinstance(value, dict) else {}


def default_template(template: Any) -> None:
    """Sets the defaults of a pod template."""
    if isinstance(template, dict):
        fill(template, {"metadata": {}})
        default_pod_spec(child(template, "spec"))


def default_pod_spec(spec: Fields) -> None:
    """Sets the defaults that pods and pod templates have."""
    fill(spec, _POD)
    fill(spec, {"securityContext": {}, "terminationGracePeriodSeconds": 30})
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        fill(spec, {"serviceAccountName": account, "serviceAccount": account})
    for volume in maps(spec.get("volumes")):
        _volume(volume)
    for field in ("initContainers", "containers"):
        for container in maps(spec.get(field)):
            _container(container)


def default_pod(spec: Fields) -> None:
    """Sets the defaults that only pods have, not pod templates."""
    for field in ("containers", "initContainers"):
        for container in maps(spec.get(field)):
            for port in maps(container.get("ports")):
                if spec.get("hostNetwork") is True and not port.get("hostPort") and "containerPort" in port:
                    port["hostPort"] = port["containerPort"]
    fill(spec, {"enableServiceLinks": True})
    set_default_requests(spec)


def _container(container: Fields) -> None:
    fill(container, {"resources": {}})
    fill(container, {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"})
    image = container.get("image")
    fill(container, {"imagePullPolicy": pull_policy(image if isinstance(image, str) else "")})
    for port in maps(container.get("ports")):
        fill(port, {"protocol": "TCP"})
    for variable in maps(container.get("env")):
        fill(dig(variable, "valueFrom", "fieldRef"), {"apiVersion": "v1"})
    for name in _PROBES:
        probe = container.get(name)
        if isinstance(probe, dict):
            for field, value in _PROBE.items():
                if not probe.get(field):
                    probe[field] = value
            _action(probe)
    for name in ("postStart", "preStop"):
        _action(dig(container, "lifecycle", name))


def _action(handler: Any) -> None:
    fill(dig(handler, "httpGet"), {"path": "/", "scheme": "HTTP"})
    fill(dig(handler, "grpc"), {"service": ""})


def pull_policy(image: str) -> str:
    """Returns the default of imagePullPolicy: Always for the tag latest, which is the default tag.

    Source: k8s.io/kubernetes v1.35.4 pkg/util/parsers/parsers.go; distribution/reference v0.6.0 regexp.go
    """
    match = _IMAGE.fullmatch(image)
    if match is None or match["tag"] not in (None, "latest"):
        return "IfNotPresent"
    return "IfNotPresent" if match["digest"] and not match["tag"] else "Always"


def _volume(volume: Fields) -> None:
    if not any(value is not None for name, value in volume.items() if name != "name"):
        volume["emptyDir"] = {}
    for source in _MODE_SOURCES:
        fill(volume.get(source), {"defaultMode": _FILE_MODE})
    fill(volume.get("hostPath"), {"type": ""})
    for item in maps(dig(volume, "downwardAPI", "items")):
        fill(item.get("fieldRef"), {"apiVersion": "v1"})
    for projection in maps(dig(volume, "projected", "sources")):
        fill(projection.get("serviceAccountToken"), {"expirationSeconds": 3600})
        for item in maps(dig(projection, "downwardAPI", "items")):
            fill(item.get("fieldRef"), {"apiVersion": "v1"})
    fill(dig(volume, "ephemeral", "volumeClaimTemplate"), {"metadata": {}})
    fill(dig(volume, "ephemeral", "volumeClaimTemplate", "spec"), {"volumeMode": "Filesystem"})
    if isinstance(volume.get("image"), dict):
        fill(volume["image"], {"pullPolicy": pull_policy(str(volume["image"].get("reference") or ""))})
