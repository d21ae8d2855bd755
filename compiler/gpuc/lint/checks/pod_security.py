"""Checks of Pod Security labels: on Namespaces, and in the managedNamespaceMetadata of Applications."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.admission.pod_security import LEVELS, PREFIX, VERSION
from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt, nearest, write
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group, pairs

NO_LEVEL = declare_rule(
    "OBJ005", Severity.ERROR, "A label of Pod Security has an invalid value.",
    "The API server refuses the namespace. If the namespace has the label already, Pod Security enforces the most "
    "restrictive level and refuses pods.",
    "k8s.io/pod-security-admission v0.35 admission/admission.go (ValidateNamespace), api/helpers.go (ParseLevel)",
)  # fmt: skip
NO_MODE = declare_rule(
    "OBJ008", Severity.WARNING, "A label has the prefix of Pod Security, but is not one of its labels.",
    "Pod Security ignores the label and does not enforce the intended level.",
    "k8s.io/pod-security-admission v0.35 api/constants.go",
)  # fmt: skip
_MODES = ("enforce", "audit", "warn")
_KEYS = tuple(f"{PREFIX}{mode}{part}" for mode in _MODES for part in ("", "-version"))
_MANAGED: Path = ("spec", "syncPolicy", "managedNamespaceMetadata", "labels")


def pod_security(manifest: Manifest) -> Iterator[ObjectFinding]:
    """Yields findings about invalid labels of Pod Security that an object sets on a namespace."""
    if manifest.kind == "Namespace":
        yield from _labels(manifest, ("metadata", "labels"), manifest.labels)
    elif manifest.kind == "Application" and group(manifest) == "argoproj.io":
        yield from _labels(manifest, _MANAGED, dig(manifest.body, *_MANAGED))


def _labels(manifest: Manifest, path: Path, labels: Any) -> Iterator[ObjectFinding]:
    for key, value in pairs(labels):
        if not isinstance(key, str) or not key.startswith(PREFIX):
            continue
        label_path = (*path, key)
        if key not in _KEYS:
            suggestion = misspelt(key, _KEYS)
            hint = f', did you mean "{suggestion}"' if suggestion else f"; the labels are {', '.join(_KEYS)}"
            message = f'"{key}" is not a label of Pod Security{hint}'
            yield ObjectFinding(NO_MODE, manifest, label_path, message, write(suggestion), on_key=True)
        elif key.endswith("-version"):
            if not VERSION.fullmatch(str(value)):
                message = f'"{value}" is neither latest nor a version such as v1.35'
                yield ObjectFinding(NO_LEVEL, manifest, label_path, message)
        elif value not in LEVELS:
            fix = write(nearest(str(value), LEVELS))
            yield ObjectFinding(NO_LEVEL, manifest, label_path, f'"{value}" is not one of {", ".join(LEVELS)}', fix)
