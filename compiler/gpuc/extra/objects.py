"""Converts the YAML documents in manifests/ into objects, and finds documents that are no Kubernetes objects."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Path, Rule, rule_table
from gpuc.documents.reader import read
from gpuc.documents.source_map import SourceMap
from gpuc.extra.files import ManifestFile
from gpuc.lint.load.loaded_files import applied_body
from gpuc.manifest.manifest import Manifest, Written, manifest_of
from gpuc.manifest.printable import unprintable
from gpuc.objects.object_finding import ObjectFinding

ALIAS_VALUES_MAX = 10_000
OBJECTS_MAX = 5000
LIST = ("v1", "List")

rule_of = rule_table(__file__)
NOT_AN_OBJECT = rule_of("MAN003")
NOT_WRITABLE = rule_of("MAN004")
SECRET = rule_of("MAN005")
_OF_TOOLS = ("kustomize.config.k8s.io", "test.gatekeeper.sh", "kind.x-k8s.io", "eksctl.io")
"""API groups of files that command-line tools read, and that no cluster stores."""
_OF_CLUSTER = (
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
    "resourceVersion", "selfLink", "uid",
)  # fmt: skip
"""Fields of metadata that the API server writes."""


class ReadObjects(Struct):
    """The objects in the manifests of a cluster, and findings about documents there that are no objects."""

    manifests: list[Manifest] = field(default_factory=list)
    """In the order of the files, without objects that have a finding."""
    findings: list[Finding] = field(default_factory=list)
    source_map: SourceMap = field(default_factory=SourceMap)


def add_objects(objects: ReadObjects, file: ManifestFile, output: str, origin: Path) -> None:
    """Adds the objects in a file to `objects`.

    Args:
        output: the output file of the objects.
        origin: the spec path of the objects: the tenant, or the complete spec.
    """
    objects.source_map.add(file.file, file.text)
    parsed = read(file.text, file.file, aliased_max=ALIAS_VALUES_MAX)
    objects.findings += [replace(finding, path=origin) for finding in parsed.findings]
    for index, data in parsed.documents:
        for path, item in _items(data):
            locate = objects.source_map.locator(file.file, (index, *path))
            problems = list(_problems(item, is_item=bool(path)))
            if len(objects.manifests) >= OBJECTS_MAX:
                problems = [(NOT_AN_OBJECT, (), False, f"at most {OBJECTS_MAX} objects are allowed", "")]
            for rule, place, on_key, message, fix in problems:
                objects.findings.append(rule.at(origin, message, fix=fix, mark=locate(place, on_key)))
            if not problems:
                manifest = manifest_of(item, output, origin, applied_body(item))
                objects.manifests.append(replace(manifest, written=Written(file.file, item, locate)))


def at_object(rule: Rule, manifest: Manifest, path: Path, message: str, fix: str = "") -> Finding:
    """Returns a finding about the value at a path of an object that a user wrote."""
    return ObjectFinding(rule, manifest, path, message, fix).to_finding()


def _items(data: Any) -> Iterator[tuple[Path, Any]]:
    """Yields a document with an empty path, or the items of a List, which kubectl prints. Skips empty documents."""
    if isinstance(data, dict) and (data.get("apiVersion"), data.get("kind")) == LIST:
        children = data.get("items")
        if isinstance(children, list):
            yield from ((("items", number), item) for number, item in enumerate(children))
            return
    if data is not None:
        yield (), data


Problem = tuple[Rule, Path, bool, str, str]
"""The rule, the path in the object, whether the key is wrong, the message, and the fix."""


def _problems(data: Any, *, is_item: bool) -> Iterator[Problem]:
    """Yields the reasons why a document is not an object that gpuc can write to the output.

    Args:
        is_item: whether the document is an item of a List.
    """
    if not isinstance(data, dict):
        yield NOT_AN_OBJECT, (), False, "the document is not a map; expected a Kubernetes object", ""
        return
    yield from _identity(data, is_item=is_item)
    if isinstance(metadata := data.get("metadata"), dict):
        yield from _metadata(metadata)
    for name in ("data", "stringData"):
        if (data.get("apiVersion"), data.get("kind")) == ("v1", "Secret") and data.get(name):
            message = f"Secret has {name}; expected a Secret that a controller of the cluster writes"
            yield SECRET, (name,), True, message, ""
    if "status" in data:
        yield NOT_WRITABLE, ("status",), True, "status is written by a controller of the cluster", "remove status"
    yield from _values(data, ())
    for path, message in unprintable(data, allows_null=True):
        yield NOT_WRITABLE, path, False, message, ""


def _identity(data: dict[str, Any], *, is_item: bool) -> Iterator[Problem]:
    """Yields the problems with the kind and the name of an object."""
    for key in ("apiVersion", "kind"):
        if not isinstance(data.get(key), str) or not data[key]:
            place: Path = (key,) if key in data else ()
            yield NOT_AN_OBJECT, place, False, f"{key} is missing or not a string", ""
    if str(data.get("apiVersion")).rpartition("/")[0] in _OF_TOOLS:
        message = f"{data.get('kind')} is the input of a command-line tool; expected an object of a cluster"
        yield NOT_AN_OBJECT, ("apiVersion",), False, message, ""
    if isinstance(data.get("items"), list):
        # Argo CD reads every object with a list `items` as a list of objects: gitops-engine pkg/utils/kube (SplitYAML).
        text = "a List in a List" if is_item else f"a list of objects of the kind {data.get('kind')}"
        yield NOT_AN_OBJECT, ("items",), True, f"{text}; expected separate documents, or one List of apiVersion v1", ""
    metadata = data.get("metadata")
    if not isinstance(metadata, dict):
        yield NOT_AN_OBJECT, ("metadata",) if "metadata" in data else (), False, "the object has no metadata", ""
    elif not isinstance(metadata.get("name"), str) or not metadata["name"]:
        where: Path = ("metadata", "name") if "name" in metadata else ("metadata",)
        problem = "the name is missing or not a string; put a number or a boolean in quotes"
        if "generateName" in metadata:
            problem = "the object has generateName instead of a name: Argo CD would create a new object at every sync"
        yield NOT_AN_OBJECT, where, False, problem, ""


def _metadata(metadata: dict[str, Any]) -> Iterator[Problem]:
    """Yields the problems with the namespace, labels and annotations of an object."""
    if "namespace" in metadata and not isinstance(metadata["namespace"], str):
        yield NOT_AN_OBJECT, ("metadata", "namespace"), False, "the namespace is not a string", ""
    for name in ("labels", "annotations"):
        texts = metadata.get(name, {})
        if not isinstance(texts, dict):
            yield NOT_AN_OBJECT, ("metadata", name), False, f"{name} is not a map", ""
            continue
        for key, value in texts.items():
            if value is not None and not isinstance(value, str):
                message = f"the value of {key} is not a string; expected a string"
                yield NOT_AN_OBJECT, ("metadata", name, key), False, message, "put the value in quotes"
    for name in _OF_CLUSTER:
        if name in metadata:
            yield NOT_WRITABLE, ("metadata", name), True, f"{name} is written by the API server", f"remove {name}"


def _values(value: Any, path: Path) -> Iterator[Problem]:
    """Yields the nulls, and the keys that are maps or lists, which the reader replaces by a question mark."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in children:
        if step == "?":
            message = "a key is a map or a list, as in a template that is not rendered; expected a string"
            yield NOT_WRITABLE, (*path, step), True, message, ""
        elif child is None:
            message = "the value is null, which the API server drops; expected a value or no key"
            yield NOT_WRITABLE, (*path, step), False, message, ""
        else:
            yield from _values(child, (*path, step))
