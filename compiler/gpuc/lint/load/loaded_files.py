"""Sorts the documents of files by their meaning: objects, Helm values, Kustomizations, and unknown documents."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Path
from gpuc.documents.source_map import SourceMap
from gpuc.lint import rule_of
from gpuc.lint.load.chart_installs import MapDocument, is_encrypted
from gpuc.lint.load.files import SETTINGS, SUFFIXES, UnreadableError, text_of
from gpuc.lint.load.kustomize import (
    generated_objects,
    generator_inputs,
    input_files,
    is_kustomization,
    is_patch,
    unused_patches,
)
from gpuc.lint.load.templates import documents_of, is_template
from gpuc.manifest.manifest import NOT_IN_BODY, Body, Manifest, manifest_of
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig

NO_OBJECT = rule_of("LNT004")
REPEATED = rule_of("LNT006")
NO_LABELS = rule_of("LNT007")
NOT_BUILT = rule_of("LNT010")
_FILES_OF_TOOLS = ("test.gatekeeper.sh", "kind.x-k8s.io", "eksctl.io")
"""API groups of files that command-line tools read, and that are not applied to a cluster."""
_QUANTITY_MAPS = frozenset(
    (
        "limits", "requests", "hard", "capacity", "allocatable", "overhead", "default", "defaultRequest", "min", "max",
        "maxLimitRequestRatio",
    )
)  # fmt: skip
"""Fields of built-in kinds that map resources to quantities. Their schemas accept only strings as quantities."""
_QUANTITY_FIELDS = frozenset(("sizeLimit", "divisor", "averageValue"))
"""Fields of built-in kinds with one quantity. `target.value` of a HorizontalPodAutoscaler is also a quantity."""
_TYPE_NAMES = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean"}


class UnnamedObject(Struct, frozen=True):
    """An object that has apiVersion and kind, but no valid name."""

    file: str
    path: Path
    """The index of the document in the file, and the path of the object in the document, or of its invalid name."""
    api: str
    kind: str
    message: str
    data: dict[str, Any]


class LoadedFiles(Struct):
    """The documents of all files below one path: objects, other maps, Kustomizations and unnamed objects."""

    manifests: list[Manifest] = field(default_factory=list)
    """Objects. The origin of an object is the index of its document, followed by its path in that document."""
    other_maps: list[MapDocument] = field(default_factory=list)
    """Maps that are not Kubernetes objects, such as Helm values."""
    kustomizations: list[MapDocument] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    unnamed: list[UnnamedObject] = field(default_factory=list)
    object_findings: list[ObjectFinding] = field(default_factory=list)
    """Findings about labels, annotations and repeated objects."""
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    """The files that cannot be read, with the reasons."""
    unchecked: Counter[str] = field(default_factory=Counter)
    """The number of documents that could not be checked, by the sentence that describes them."""
    commented: dict[str, str] = field(default_factory=dict)
    """The texts of the files that may have comments which accept findings."""
    built: list[list[Manifest]] = field(default_factory=list)
    """The objects of each Kustomization that was built."""
    remarks: list[str] = field(default_factory=list)
    """Sentences about what was built."""
    templates: list[str] = field(default_factory=list)
    """The texts of templates, which are not loaded."""
    live: set[tuple[Any, ...]] = field(default_factory=set)
    """The file and the index of documents that kubectl printed: lists of objects with UIDs."""
    partial: set[str] = field(default_factory=set)
    """The absolute paths of files with parts of objects, which plugins of Kustomize read."""
    _files: dict[str, str] = field(default_factory=dict)
    """The files by absolute path."""
    _keys: set[tuple[str, ...]] = field(default_factory=set)
    _generated: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """The number of objects with a generateName, by kind, namespace and generateName."""

    def load(self, file: str, source_map: SourceMap) -> None:
        """Reads a file and adds its documents, and adds the text of the file to a source map."""
        try:
            text = text_of(file)
        except UnreadableError as error:
            self.unreadable.append((file, str(error)))
            return
        source_map.add(file, text)
        self.add(file, text)

    def add(self, file: str, text: str) -> None:
        """Reads the YAML documents in the text of a file, and adds each one: as an object, a Kustomization or a map."""
        self._files[os.path.abspath(file)] = file
        parsed = documents_of(text, file)
        if is_template(file, text, parsed):
            self.unchecked["templates that are not YAML yet; render the templates and lint the output"] += 1
            self.templates.append(text)
            return
        if parsed.findings and file.endswith(".json") and not ("apiVersion" in text and "kind" in text):
            self.unchecked["JSON files that cannot be read and are not Kubernetes objects"] += 1
            return
        self.findings += parsed.findings
        if "gpuc:" in text:
            self.commented[file] = text
        for index, data in parsed.documents:
            for path, item in objects_of(data):
                self._add_object(file, index, path, item)

    def apply_kustomizations(self) -> None:
        """Removes the patches of Kustomizations and adds the generated objects. Call this after the last file."""
        if not self.kustomizations:
            return
        if not self.built:
            self.unchecked[_KUSTOMIZATION] += len(self.kustomizations)
        inputs = input_files(self.kustomizations)
        files = {manifest.file for manifest in self.manifests}
        plugins = (row for row in self.manifests if os.path.abspath(row.file) in inputs)
        self.partial = generator_inputs(self._files, plugins)
        self.unnamed = [row for row in self.unnamed if os.path.abspath(row.file) not in self.partial]
        inputs |= unused_patches(files, self.kustomizations)
        if patches := self._leave_out(inputs) & files:
            self.unchecked[_PATCH] += len(patches)
        self.manifests += generated_objects(self.kustomizations)

    def build(self, source_map: SourceMap) -> None:
        """Replaces the files of Kustomizations by the objects that kustomize builds. Call this after the last file."""
        from gpuc.lint.load.build import builds

        done = sorted(builds(self.kustomizations, source_map), key=lambda build: build.file)
        as_they_are = {file for build in done if build.problem for file in build.inputs}
        inputs = {file for build in done if not build.problem for file in build.inputs} - as_they_are
        inputs |= unused_patches(self._files, self.kustomizations)
        for file in sorted(inputs - self._files.keys()):
            if file.endswith(SUFFIXES):  # bases outside of the linted path
                self.load(os.path.relpath(file), source_map)
        sources: dict[str, list[Manifest]] = {}
        for manifest in (*self.manifests, *generated_objects(self.kustomizations)):
            sources.setdefault(os.path.abspath(manifest.file), []).append(manifest)
        for build in done:
            self.remarks.append(build.remark)
            if build.problem and build.problem.is_mistake:
                self.findings.append(NOT_BUILT.at((), build.problem.reason, mark=build.problem.mark))
            rows = (_built(data, file, sources.get(file, ())) for file, data in build.objects)
            self.built.append([manifest for manifest in rows if manifest])
        self._leave_out(inputs)
        self.kustomizations = [row for row in self.kustomizations if os.path.abspath(row[0]) not in inputs]

    def _leave_out(self, inputs: set[str]) -> set[str]:
        """Removes the documents of some absolute paths, and returns the paths as the user wrote them."""
        out = {self._files[path] for path in inputs & self._files.keys()}
        self.manifests = [row for row in self.manifests if row.file not in out]
        self.object_findings = [row for row in self.object_findings if row.manifest.file not in out]
        self.unnamed = [row for row in self.unnamed if row.file not in out]
        self.other_maps = [row for row in self.other_maps if row[0] not in out]
        return out

    def worlds(self) -> "Iterator[LoadedFiles]":
        """Yields groups of files, each with the objects of one cluster.

        Two builds of Kustomizations with a common object are for different clusters. The first group has all files and
        builds without such a conflict; each further build is a group.
        """
        first, others = list(self.manifests), []
        seen: set[tuple[str, ...]] = set()
        for objects in self.built:
            mine = set(map(identity, objects))
            if seen.isdisjoint(mine):
                first, seen = [*first, *objects], seen | mine
            else:
                others.append(LoadedFiles(manifests=objects, templates=self.templates, live=self.live))
        yield replace(self, manifests=first)
        yield from others

    def _add_object(self, file: str, index: int, path: Path, data: Any) -> None:
        if not isinstance(data, dict):
            self.unchecked["documents that are not maps"] += 1
            return
        api, kind = data.get("apiVersion"), data.get("kind")
        if is_kustomization(file, data):
            self.kustomizations.append((file, index, data))
            return
        if not isinstance(api, str) or not isinstance(kind, str):
            if os.path.basename(file) != SETTINGS:
                self.other_maps.append((file, index, data))
            return
        if api.rpartition("/")[0] in _FILES_OF_TOOLS:
            reason = f"{kind} of {api}, which is the input of a command-line tool and not an object of a cluster"
            self.unchecked[reason] += 1
            return
        if "$patch" in data or ("metadata" not in data and is_patch(file)):
            self.unchecked[_PATCH] += 1
            return
        metadata = data.get("metadata")
        name = metadata.get("name") or metadata.get("generateName") if isinstance(metadata, dict) else None
        if not isinstance(metadata, dict) or not isinstance(name, str):
            self.unnamed.append(_unnamed(file, (index, *path), data))
            return
        if path and "uid" in metadata:
            self.live.add((file, index))
        if is_encrypted(data):
            self.unchecked["objects that SOPS encrypted, whose encrypted values are not read"] += 1
        name = metadata.get("name") or self._generated_name(kind, metadata)
        self.manifests.append(manifest_of(data, file, (index, *path), _decrypted_body(data), name))
        self.object_findings += self._metadata_findings(self.manifests[-1], metadata)

    def _generated_name(self, kind: str, metadata: dict[str, Any]) -> str:
        """Returns a name for an object whose name the API server generates: train-x, then train-x2, then train-x3."""
        prefix = metadata["generateName"]
        key = kind, str(metadata.get("namespace") or ""), prefix
        self._generated[key] += 1
        return f"{prefix}x{self._generated[key] if self._generated[key] > 1 else ''}"

    def _metadata_findings(self, manifest: Manifest, metadata: dict[str, Any]) -> Iterator[ObjectFinding]:
        for name in ("labels", "annotations"):
            if not isinstance(metadata.get(name) or {}, dict):
                message = f"must be a map, is {_TYPE_NAMES[type(metadata[name])]}"
                yield ObjectFinding(NO_LABELS, manifest, ("metadata", name), message)
        if "name" not in metadata:
            return  # the API server generates a different name for every object
        key = manifest.file, *identity(manifest)
        if key in self._keys:
            yield ObjectFinding(REPEATED, manifest, ("metadata", "name"), "this file already has the same object")
        self._keys.add(key)


def load_files(files: Iterable[str], source_map: SourceMap, build: bool = False) -> LoadedFiles:
    """Loads files together, and adds their texts to a source map. With `build`, kustomize builds Kustomizations."""
    loaded = LoadedFiles()
    for file in files:
        loaded.load(file, source_map)
    if build:
        loaded.build(source_map)
    loaded.apply_kustomizations()
    return loaded


def _built(data: dict[str, Any], file: str, sources: Iterable[Manifest]) -> Manifest | None:
    """Returns an object that kustomize built, at the place of the object in its file with the most similar name."""
    api, kind, name = data.get("apiVersion"), data.get("kind"), dig(data, "metadata", "name")
    if not (isinstance(api, str) and isinstance(kind, str) and isinstance(name, str)):
        return None
    same = [manifest for manifest in sources if manifest.kind == kind]
    source = max(same, key=lambda manifest: (manifest.name == name, manifest.name in name), default=None)
    file, origin = (source.file, source.origin) if source else (os.path.relpath(file), (0,))
    return manifest_of(data, file, origin, _decrypted_body(data), name)


def identity(manifest: Manifest) -> tuple[str, ...]:
    """Returns the API group, the kind, the namespace and the name of an object."""
    return manifest.api.rpartition("/")[0], manifest.kind, manifest.namespace, manifest.name


def _unnamed(file: str, path: Path, data: dict[str, Any]) -> UnnamedObject:
    """Returns an object without a name, or with a name that YAML does not read as a string: `on`, 12, 1.5."""
    api, kind, metadata = data["apiVersion"], data["kind"], data.get("metadata")
    if not isinstance(metadata, dict):
        message = f"{kind} has no metadata"
    elif isinstance(name := metadata.get("name"), bool | int | float):
        path = (*path, "metadata", "name")
        message = f"YAML reads the name of this {kind} as {json.dumps(name)}, not as a string: put the name in quotes"
    else:
        message = f"{kind} has no name"
    return UnnamedObject(file, path, api, kind, message, data)


def is_object(unnamed: UnnamedObject) -> bool:
    """Returns whether a document of an unknown kind without a name is an object, and not a configuration file."""
    api_group, _, version = unnamed.api.rpartition("/")
    is_configuration = ".config." in f"{api_group}." or unnamed.kind.endswith(("Config", "Configuration"))
    has_metadata = bool(unnamed.data.get("metadata")) and bool(_VERSION.fullmatch(version))
    return "." in api_group and has_metadata and not is_configuration


_VERSION = re.compile(r"v\d+((alpha|beta)\d+)?")
_KUSTOMIZATION = (
    "Kustomizations, which gpuc lint does not build; lint the output of `kubectl kustomize`, or add --build"
)
_PATCH = "Kustomize patches, which change other objects and are not objects themselves"


def applied_body(data: dict[str, Any]) -> Body:
    """Returns the fields of an object that users set in the cluster: not apiVersion, kind, metadata and status."""
    is_builtin = "." not in data["apiVersion"].rpartition("/")[0]
    body: Body = as_applied({key: value for key, value in data.items() if key not in NOT_IN_BODY}, is_builtin)
    return body


def _decrypted_body(data: dict[str, Any]) -> Body:
    """Returns the body without what SOPS adds to a file and removes when it decrypts the file."""
    body = applied_body(data)
    if is_encrypted(data):
        del body["sops"]
    return body


def objects_of(data: Any) -> Iterator[tuple[Path, Any]]:
    """Yields the objects of a document with their paths: the items of a List, or else the document itself."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and kind.endswith("List") and isinstance(data.get("items"), list):
        for number, item in enumerate(data["items"]):
            implied = {"apiVersion": data.get("apiVersion"), "kind": kind.removesuffix("List")}
            yield ("items", number), {**implied, **item} if isinstance(item, dict) and kind != "List" else item
    elif data is not None:
        yield (), data


def as_applied(value: Any, is_builtin: bool, name: str = "") -> Any:
    """Returns a value as the API server reads it: maps without nulls, and quantities as strings.

    Args:
        is_builtin: whether the object is of a built-in kind. Numbers in other objects do not change, because only the
            schemas of custom kinds define which values are quantities.
        name: the key of the value.
    """
    if isinstance(value, dict):
        present = {key: child for key, child in value.items() if child is not None}
        if is_builtin and name in _QUANTITY_MAPS:
            return {key: str(child) if _is_number(child) else child for key, child in present.items()}
        inner = {"value": "averageValue"} if name == "target" else {}
        return {key: as_applied(child, is_builtin, inner.get(key) or key) for key, child in present.items()}
    if isinstance(value, list):
        return [as_applied(item, is_builtin) for item in value]
    return str(value) if is_builtin and name in _QUANTITY_FIELDS and _is_number(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
