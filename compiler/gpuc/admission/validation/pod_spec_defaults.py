"""Defaults of pods and pod templates that are more than a row of a table.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/defaults.go, conversion.go
"""

from __future__ import annotations

import re

from gpuc.admission.validation.field import Field, Problems, text

_IMAGE = re.compile(
    r"(?:(?:localhost|[-A-Za-z0-9]*[A-Z.][-A-Za-z0-9.]*|[-A-Za-z0-9.]+(?=:))(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+|/)[a-z0-9]+)*(?::(?P<tag>\w[\w.-]{0,127}))?(?P<digest>@[a-z0-9+._-]+:[0-9a-f]{32,})?"
)
"""An image: registry, path, tag and digest. The first part of the name is a registry if it contains ., : or A to Z."""


def _names_of_account(pod: Field) -> Problems:
    account = pod.get("serviceAccountName") or pod.get("serviceAccount")
    if account:
        for name in ("serviceAccountName", "serviceAccount"):
            pod.value[name] = pod.get(name) or account
    yield from ()


def _pull_policy_of_container(container: Field) -> Problems:
    if isinstance(container.value, dict):
        container.value["imagePullPolicy"] = container.get("imagePullPolicy") or pull_policy(
            text(container.get("image"))
        )
    yield from ()


def _source_of_volume(volume: Field) -> Problems:
    if not isinstance(volume.value, dict):
        return
    if not any(value is not None for name, value in volume.value.items() if name != "name"):
        volume.value["emptyDir"] = {}
    image = volume.get("image")
    if isinstance(image, dict):
        image["pullPolicy"] = image.get("pullPolicy") or pull_policy(str(image.get("reference") or ""))
    yield from ()


def pull_policy(image: str) -> str:
    """Returns the default of imagePullPolicy: Always for the tag latest, which is the default tag.

    Source: k8s.io/kubernetes v1.35.4 pkg/util/parsers/parsers.go; distribution/reference v0.6.0 regexp.go
    """
    match = _IMAGE.fullmatch(image)
    if match is None or match["tag"] not in (None, "latest"):
        return "IfNotPresent"
    return "IfNotPresent" if match["digest"] and not match["tag"] else "Always"
