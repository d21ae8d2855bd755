"""Finds the input files of Kustomizations, such as patches, and the objects that Kustomize generates."""

import os
from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.lint.load.chart_installs import MapDocument
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items

GROUP = "kustomize.config.k8s.io"
_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LISTS_OF_PATHS = ("patchesStrategicMerge", "configurations", "transformers", "generators", "validators")
_LISTS_WITH_PATHS = ("patches", "patchesJson6902", "replacements")
_LISTS_THAT_CHANGE = ("patches", "patchesStrategicMerge", "patchesJson6902", "components", "transformers")
_GENERATORS = {"configMapGenerator": "ConfigMap", "secretGenerator": "Secret"}


def is_kustomization(file: str, data: dict[str, Any]) -> bool:
    """Returns whether a map is a Kustomization: by its apiVersion, or by its file name if the map has no kind."""
    api = data.get("apiVersion")
    return (isinstance(api, str) and api.startswith(f"{GROUP}/")) or (
        "kind" not in data and os.path.basename(file) in _NAMES
    )


def has_patches(kustomizations: list[MapDocument]) -> bool:
    """Returns whether Kustomizations have patches, which may add fields that the files of the objects lack."""
    return any(data.get(key) for _, _, data in kustomizations for key in _LISTS_THAT_CHANGE)


def adds_labels(kustomizations: list[MapDocument]) -> bool:
    """Returns whether Kustomizations add labels to objects, pods or selectors."""
    return any(data.get(key) for _, _, data in kustomizations for key in ("labels", "commonLabels"))


def is_unused_patch(file: str, kustomizations: list[MapDocument]) -> bool:
    """Returns whether a file is below the folder of a Kustomization and has "patch" in its name."""
    folders = {os.path.dirname(os.path.abspath(known)) for known, _, _ in kustomizations}
    return "patch" in os.path.basename(file) and any(
        os.path.abspath(file).startswith(f"{folder}{os.sep}") for folder in folders
    )


def input_files(kustomizations: list[MapDocument]) -> set[str]:
    """Returns the absolute paths of files that only Kustomizations read, such as patches."""
    paths: set[str] = set()
    for file, _, data in kustomizations:
        names = [name for key in _LISTS_OF_PATHS for _, name in items(data.get(key))]
        names += [dig(patch, "path") for key in _LISTS_WITH_PATHS for _, patch in items(data.get(key))]
        for key in _GENERATORS:
            lists = (dig(generator, "files") for _, generator in items(data.get(key)))
            names += [name.rpartition("=")[2] for files in lists for _, name in items(files) if isinstance(name, str)]
        folder = os.path.dirname(os.path.abspath(file))
        paths |= {
            os.path.normpath(os.path.join(folder, name))
            for name in names
            if isinstance(name, str) and not {"\n", ":"} & {*name}
        }
    return paths


def generated_objects(kustomizations: list[MapDocument]) -> Iterator[Manifest]:
    """Yields the ConfigMaps and Secrets that Kustomize generates, with the names by which other objects refer to them.

    The data of an object has the generated keys with empty strings as values. Keys from a file of variables (envs) are
    left out.
    """
    for file, index, data in kustomizations:
        namespace = data.get("namespace")
        for key, kind in _GENERATORS.items():
            for number, generator in items(data.get(key)):
                name, own_namespace = dig(generator, "name"), dig(generator, "namespace") or namespace
                if isinstance(name, str):
                    origin: Path = (index, key, number)
                    data_field = "data" if kind == "ConfigMap" else "stringData"
                    body = {data_field: dict.fromkeys(_keys(generator), "")}
                    object_namespace = own_namespace if isinstance(own_namespace, str) else ""
                    yield Manifest(file, origin, "v1", kind, name, body, object_namespace)


def _keys(generator: Any) -> list[str]:
    if dig(generator, "envs") or dig(generator, "env") or dig(generator, "behavior") == "merge":
        return []
    files = [name for _, name in items(dig(generator, "files")) if isinstance(name, str)]
    literals = [name for _, name in items(dig(generator, "literals")) if isinstance(name, str)]
    return [os.path.basename(file.partition("=")[0]) for file in files] + [text.partition("=")[0] for text in literals]
