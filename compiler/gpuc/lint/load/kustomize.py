"""Finds the input files of Kustomizations, such as patches, and the objects that Kustomize generates."""

import os
from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.lint.load.chart_installs import MapDocument
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items

GROUP = "kustomize.config.k8s.io"
KUSTOMIZATION_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LISTS_OF_PATHS = ("patchesStrategicMerge", "configurations", "transformers", "generators", "validators")
_LISTS_WITH_PATHS = ("patches", "patchesJson6902", "replacements")
_RESOURCES = ("resources", "bases", "components", "crds")
_LISTS_THAT_CHANGE = ("patches", "patchesStrategicMerge", "patchesJson6902", "components", "transformers")
_GENERATORS = {"configMapGenerator": "ConfigMap", "secretGenerator": "Secret"}


def is_kustomization(file: str, data: dict[str, Any]) -> bool:
    """Returns whether a map is a Kustomization: by its apiVersion, or by its file name if the map has no kind."""
    api = data.get("apiVersion")
    return (isinstance(api, str) and api.startswith(f"{GROUP}/")) or (
        "kind" not in data and os.path.basename(file) in KUSTOMIZATION_NAMES
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
        folder = os.path.dirname(os.path.abspath(file))
        names = (name for path, name in input_names(data) if path[0] not in _RESOURCES and "envs" not in path)
        paths |= {os.path.normpath(os.path.join(folder, name)) for name in names if ":" not in name}
    return paths


def input_names(data: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yields the path and the value of each name of a file or folder, or URL, that a Kustomization reads."""
    paths: list[Path] = [(key, number) for key in (*_RESOURCES, *_LISTS_OF_PATHS) for number, _ in items(data.get(key))]
    paths += [(key, number, "path") for key in _LISTS_WITH_PATHS for number, _ in items(data.get(key))]
    for key in _GENERATORS:
        for number, generator in items(data.get(key)):
            paths += [(key, number, inner, i) for inner in ("files", "envs") for i, _ in items(dig(generator, inner))]
    for path in (*paths, ("openapi", "path")):
        if _is_name(name := dig(data, *path)):
            yield path, name.rpartition("=")[2] if "files" in path else name


def _is_name(value: Any) -> bool:
    """Returns whether a value is a name, and not the text of a patch."""
    return isinstance(value, str) and not {"\n", "{"} & {*value}


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
