"""Finds the input files of Kustomizations, such as patches, and the objects that Kustomize generates."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.lint.load.chart_installs import MapDocument
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.objects.paths import texts

GROUP = "kustomize.config.k8s.io"
KUSTOMIZATION_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LISTS_OF_PATHS = ("patchesStrategicMerge", "configurations", "transformers", "generators", "validators")
_LISTS_WITH_PATHS = ("patches", "patchesJson6902", "replacements")
_RESOURCES = ("resources", "bases", "components", "crds")
LISTS_THAT_CHANGE = ("patches", "patchesStrategicMerge", "patchesJson6902", "components", "transformers")
LISTS_OF_LABELS = ("labels", "commonLabels")
_PATCH_NAME = re.compile(r"(?<!dis)patch[^/]*(?:/[^/]*)?$", re.IGNORECASE)
_GENERATORS = {"configMapGenerator": "ConfigMap", "secretGenerator": "Secret"}


def is_kustomization(file: str, data: dict[str, Any]) -> bool:
    """Returns whether a map is a Kustomization: by its apiVersion, or by its file name if the map has no kind."""
    api = data.get("apiVersion")
    return (isinstance(api, str) and api.startswith(f"{GROUP}/")) or (
        "kind" not in data and os.path.basename(file) in KUSTOMIZATION_NAMES
    )


def is_patch(file: str) -> bool:
    """Returns whether a file is a patch, judged by the name of the file or of its folder."""
    return bool(_PATCH_NAME.search(file.replace(os.sep, "/")))


def reached(kustomizations: list[MapDocument], keys: Sequence[str]) -> set[str]:
    """Returns the absolute paths of all files and folders that Kustomizations with one of the given keys build."""
    inputs: dict[str, list[str]] = {}
    todo: list[str] = []
    for file, _, data in kustomizations:
        folder = os.path.dirname(os.path.abspath(file))
        resources = _resources(folder, data)
        inputs.setdefault(folder, []).extend(resources)
        todo += resources if any(map(data.get, keys)) else ()
    found: set[str] = set()
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += inputs.get(path, ())
    return found


def builders(kustomizations: list[MapDocument]) -> dict[str, set[str]]:
    """Returns, by the absolute path of a file or folder, the folders of the Kustomizations that build it."""
    found: dict[str, set[str]] = {}
    for file, _, data in kustomizations:
        folder = os.path.dirname(os.path.abspath(file))
        for path in (os.path.abspath(file), *_resources(folder, data)):
            found.setdefault(path, set()).add(folder)
    return found


def roots(path: str, builders: dict[str, set[str]]) -> set[str]:
    """Returns the folders of the Kustomizations that build a file and that no other Kustomization builds."""
    todo, seen = [path], {path}
    while todo:
        above = builders.get(todo.pop(), set()) - seen
        seen |= above
        todo += above
    return {folder for folder in seen if folder != path and not builders.get(folder)}


def _resources(folder: str, data: dict[str, Any]) -> list[str]:
    """Returns the absolute paths of the files and folders whose objects a Kustomization in a folder builds."""
    names = (name for path, name in input_names(data) if path[0] in _RESOURCES)
    return [os.path.normpath(os.path.join(folder, name)) for name in names if ":" not in name]


def unused_patches(files: Iterable[str], kustomizations: list[MapDocument]) -> set[str]:
    """Returns the absolute paths of files below a Kustomization's folder with "patch" in the name or folder.

    A file that a Kustomization lists as a resource is no patch.
    """
    named = [os.path.abspath(file) for file in files if is_patch(file)]
    if not named:
        return set()
    by_path = builders(kustomizations)
    below = tuple(f"{folder.rstrip(os.sep)}{os.sep}" for folder in set().union(*by_path.values()))
    return {file for file in named if file not in by_path and file.startswith(below)}


def input_files(kustomizations: list[MapDocument]) -> set[str]:
    """Returns the absolute paths of files that are only inputs of Kustomizations, such as patches."""
    paths: set[str] = set()
    for file, _, data in kustomizations:
        folder = os.path.dirname(os.path.abspath(file))
        names = (name for path, name in input_names(data) if path[0] not in _RESOURCES and "envs" not in path)
        paths |= {os.path.normpath(os.path.join(folder, name)) for name in names if ":" not in name}
    return paths


def generator_inputs(files: Iterable[str], generators: Iterable[Manifest]) -> set[str]:
    """Returns the absolute paths of files that plugins of Kustomize read: at or below a field `path` of a plugin.

    A plugin such as PolicyGenerator creates policies from incomplete objects.
    """
    named = {
        os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(generator.file)), text))
        for generator in generators
        for path, text in texts(generator.document())
        if path[-1:] == ("path",)
    }
    return {file for file in files if any(file == path or file.startswith(f"{path}{os.sep}") for path in named)}


def input_names(data: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yields each file, folder or URL that a Kustomization reads, with the path of this name in the Kustomization."""
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

    The data of an object has the generated keys, each with an empty string. Keys from files of variables (`envs`) are
    not in the data.
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
