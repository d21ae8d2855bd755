"""Labels of Pod Security: on namespaces, and on those that Argo CD makes for an Application."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt, nearest, write
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group, pairs

NO_LEVEL = declare_rule(
    "OBJ005", Severity.ERROR, "A label of Pod Security has a value that it does not know.",
    "The API server refuses the namespace. Where the label was there before, it takes the most restrictive level for "
    "what it cannot read, and refuses pods.",
    "k8s.io/pod-security-admission v0.35 admission/admission.go (ValidateNamespace), api/helpers.go (ParseLevel)",
)  # fmt: skip
NO_MODE = declare_rule(
    "OBJ008", Severity.WARNING, "A label has the prefix of Pod Security, and Pod Security does not know it.",
    "Nobody reads it: what it was to enforce is not enforced.",
    "k8s.io/pod-security-admission v0.35 api/constants.go",
)  # fmt: skip
_PREFIX = "pod-security.kubernetes.io/"
_LEVELS = ("privileged", "baseline", "restricted")
_MODES = ("enforce", "audit", "warn")
_KEYS = tuple(f"{_PREFIX}{mode}{part}" for mode in _MODES for part in ("", "-version"))
_VERSION = re.compile(r"latest|v1\.(?:0|[1-9][0-9]*)")
_MANAGED: Path = ("spec", "syncPolicy", "managedNamespaceMetadata", "labels")


def pod_security(manifest: Manifest) -> Iterator[ObjectFinding]:
    """What Pod Security does not understand of the labels that an object gives a namespace."""
    if manifest.kind == "Namespace":
        yield from _labels(manifest, ("metadata", "labels"), manifest.labels)
    elif manifest.kind == "Application" and group(manifest) == "argoproj.io":
        yield from _labels(manifest, _MANAGED, dig(manifest.body, *_MANAGED))


def _labels(manifest: Manifest, path: Path, labels: Any) -> Iterator[ObjectFinding]:
    for key, value in pairs(labels):
        if not isinstance(key, str) or not key.startswith(_PREFIX):
            continue
        place = (*path, key)
        if key not in _KEYS:
            near = misspelt(key, _KEYS)
            hint = f', did you mean "{near}"' if near else f"; there are {', '.join(_KEYS)}"
            yield ObjectFinding(
                NO_MODE, manifest, place, f'"{key}" is none of its labels{hint}', write(near), on_key=True
            )
        elif key.endswith("-version"):
            if not _VERSION.fullmatch(str(value)):
                yield ObjectFinding(NO_LEVEL, manifest, place, f'"{value}" is neither latest nor like v1.35')
        elif value not in _LEVELS:
            fix = write(nearest(str(value), _LEVELS))
            yield ObjectFinding(NO_LEVEL, manifest, place, f'"{value}" is none of {", ".join(_LEVELS)}', fix)
