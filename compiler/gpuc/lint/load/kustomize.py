"""What Kustomizations say about files beside them: which are patches and settings, and which objects they generate."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.lint.load.installs import Document
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items

GROUP = "kustomize.config.k8s.io"
_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LISTS_OF_PATHS = ("patchesStrategicMerge", "configurations", "transformers", "generators", "validators")
_LISTS_WITH_PATHS = ("patches", "patchesJson6902", "replacements")
_LISTS_THAT_CHANGE = ("patches", "patchesStrategicMerge", "patchesJson6902", "components", "transformers")
_GENERATORS = {"configMapGenerator": "ConfigMap", "secretGenerator": "Secret"}


def is_kustomization(file: str, data: dict[str, Any]) -> bool:
    """Whether a map is a Kustomization, which need not say so."""
    api = data.get("apiVersion")
    return (isinstance(api, str) and api.startswith(f"{GROUP}/")) or (
        "kind" not in data and os.path.basename(file) in _NAMES
    )


def has_patches(kustomizations: list[Document]) -> bool:
    """Whether objects may get what their own files lack."""
    return any(data.get(key) for _, _, data in kustomizations for key in _LISTS_THAT_CHANGE)


def is_left_patch(file: str, kustomizations: list[Document]) -> bool:
    """Whether a file beside a Kustomization is by its name a patch that it does not take at the moment."""
    folders = {os.path.dirname(os.path.abspath(known)) for known, _, _ in kustomizations}
    return "patch" in os.path.basename(file) and any(
        os.path.abspath(file).startswith(f"{each}{os.sep}") for each in folders
    )


def parts(kustomizations: list[Document]) -> set[str]:
    """Absolute paths of files that are no objects of their own: patches, transformers, what generators take in."""
    found: set[str] = set()
    for file, _, data in kustomizations:
        names = [name for key in _LISTS_OF_PATHS for _, name in items(data.get(key))]
        names += [dig(each, "path") for key in _LISTS_WITH_PATHS for _, each in items(data.get(key))]
        for key in _GENERATORS:
            taken = (dig(each, "files") for _, each in items(data.get(key)))
            names += [name.rpartition("=")[2] for each in taken for _, name in items(each) if isinstance(name, str)]
        folder = os.path.dirname(os.path.abspath(file))
        found |= {os.path.normpath(os.path.join(folder, name)) for name in names if _is_path(name)}
    return found


def generated(kustomizations: list[Document]) -> Iterator[Manifest]:
    """The ConfigMaps and Secrets that Kustomize makes, under the names by which others mean them.

    Keys are there, their values are not; an object whose keys stand in a file of variables has none.
    """
    for file, index, data in kustomizations:
        namespace = data.get("namespace")
        for key, kind in _GENERATORS.items():
            for number, each in items(data.get(key)):
                name, own = dig(each, "name"), dig(each, "namespace") or namespace
                if isinstance(name, str):
                    origin: Path = (index, key, number)
                    part = "data" if kind == "ConfigMap" else "stringData"
                    body = {part: dict.fromkeys(_keys(each), "")}
                    namespaces = own if isinstance(own, str) else ""
                    yield Manifest(file, origin, "v1", kind, name, body, namespaces)


def _keys(generator: Any) -> list[str]:
    if dig(generator, "envs") or dig(generator, "env") or dig(generator, "behavior") == "merge":
        return []
    files = [name for _, name in items(dig(generator, "files")) if isinstance(name, str)]
    literals = [name for _, name in items(dig(generator, "literals")) if isinstance(name, str)]
    return [os.path.basename(each.partition("=")[0]) for each in files] + [each.partition("=")[0] for each in literals]


def _is_path(name: Any) -> bool:
    return isinstance(name, str) and "\n" not in name and ":" not in name
