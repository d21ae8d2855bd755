"""The artifacts that emitters return: objects, Helm values and texts, with their output files and spec paths."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from gpuc.diagnostics.finding import Mark, Path

Body = dict[str, Any]
"""Plain data: dict, list, str, int, float and bool. Sets and tuples are not allowed. None is only in Helm values."""
NOT_IN_BODY = frozenset(("apiVersion", "kind", "metadata", "status"))
"""The fields of an object that its body does not have."""
Kind = tuple[str, str]
"""API group and kind; the core group is the empty string."""
Overrides = Mapping[Path, Path]
"""The values that users set with labels, annotations, patches and Helm values.

The key is the path in the object or in the Helm values; the value is the path in the merged spec.
"""
RunsOn = Literal["system nodes", "pool nodes", "GPU nodes", "EFA nodes"]
"""The nodes for the pods of a chart: the system nodes, or all nodes with GPUs or EFA, also before they are ready."""


class Written(Struct, frozen=True):
    """The origin of an object that a user wrote: the file, and the object with the user's keys."""

    file: str
    """The user's file, relative to the root."""
    document: Body
    """The object as it is in the file. Its fields keep their order in the output."""
    locate: Callable[[Path, bool], Mark]
    """Returns the position in the file of the value at a path of the object, or of its key."""


class Manifest(Struct, frozen=True):
    """One Kubernetes object, with the output file and the path in the spec from which it was made."""

    file: str
    """The output file, relative to the root: "out/prod-use1/tenants/research.yaml"."""
    origin: Path
    """The spec path that the object comes from. gpuc reports findings about the object at this path."""
    api: str
    """apiVersion, for example "apps/v1"."""
    kind: str
    name: str
    body: Body
    """All fields except apiVersion, kind and metadata: spec, data, rules and so on."""
    namespace: str = ""
    """Empty for cluster-scoped objects."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    written: Written | None = None
    """The object as a user wrote it; None for an object of gpuc."""
    overrides: Overrides = field(default_factory=dict)
    """The labels and annotations of the spec, and the values that patches have set or removed."""

    def override(self, path: Path) -> Path | None:
        """Returns the path in the spec of a value that a user has set in the object; None if gpuc set the value."""
        for depth in range(len(path), 0, -1):
            if path[:depth] in self.overrides:
                return (*self.overrides[path[:depth]], *path[depth:])
        return None

    def document(self) -> Body:
        """Returns the complete object as a map: apiVersion, kind and metadata, and then the other fields."""
        if self.written is not None:
            return self.written.document
        metadata: Body = {"name": self.name}
        if self.namespace:
            metadata["namespace"] = self.namespace
        if self.labels:
            metadata["labels"] = self.labels
        if self.annotations:
            metadata["annotations"] = self.annotations
        return {"apiVersion": self.api, "kind": self.kind, "metadata": metadata, **self.body}

    def __str__(self) -> str:
        prefix = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {prefix}{self.name}"


Locate = Callable[[Manifest, Path], Mark | None]
"""A function that returns the file, line and column of a path in an object; None if they are unknown."""


def manifest_of(
    document: Body, file: str = "", origin: Path = (), body: Body | None = None, name: str = ""
) -> Manifest:
    """Converts a map with an object into a Manifest. Labels and annotations that are not maps are left out.

    Args:
        document: the object, whose metadata is a map.
        body: the fields that the Manifest gets; None for all fields except apiVersion, kind and metadata.
        name: the name, if the metadata has none.
    """
    metadata = document["metadata"]
    labels, annotations = (metadata.get(key) for key in ("labels", "annotations"))
    if body is None:
        body = {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "metadata")}
    return Manifest(
        file=file,
        origin=origin,
        api=document["apiVersion"],
        kind=document["kind"],
        name=name or str(metadata.get("name", "")),
        namespace=str(metadata.get("namespace") or ""),
        labels=dict(labels) if isinstance(labels, dict) else {},
        annotations=dict(annotations) if isinstance(annotations, dict) else {},
        body=body,
    )


class Values(Struct, frozen=True):
    """The Helm values of one chart, which are one output file."""

    file: str
    origin: Path
    component: str
    """The chart's key in the release set, for example "gpu-operator"."""
    body: Body
    embedded: dict[str, Any] = field(default_factory=dict)
    """The parsed documents of the strings in the body that contain YAML. The key is the string."""
    has_schema: bool = True
    """Whether gpuc has a schema of the values. False for the charts that a spec adds under `charts`."""
    overrides: Overrides = field(default_factory=dict)
    """The values of the user in the body."""
    pods: Mapping[Path, RunsOn] = field(default_factory=dict)
    """The nodes for the pods, by the path of the map with their nodeSelector, affinity and tolerations."""

    @property
    def manifest(self) -> Manifest:
        """The Helm values as a Manifest, so that findings can be about them."""
        return Manifest(self.file, self.origin, "", "values of", self.component, self.body, overrides=self.overrides)


class Text(Struct, frozen=True):
    """An output file that contains neither objects nor Helm values, for example a README."""

    file: str
    origin: Path
    text: str


Artifact = Manifest | Values | Text
"""An object, Helm values or a text. A file contains its objects in the order in which they were emitted."""
