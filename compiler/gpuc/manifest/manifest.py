"""What emitters make: plain data, each with the file it goes to and the spec path it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuc.diagnostics.finding import Path

Body = dict[str, Any]
"""Plain data: dict, list, str, int, float and bool. Never None, never a set or a tuple."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One Kubernetes object."""

    file: str
    """Where it stands, relative to the root: "out/prod-use1/karpenter/pools/train-h100.yaml"."""
    origin: Path
    """The spec path that it came from: findings about it land there."""
    api: str
    """apiVersion, for example "karpenter.sh/v1"."""
    kind: str
    name: str
    body: Body
    """Everything beside apiVersion, kind and metadata: spec, data, rules and so on."""
    namespace: str = ""
    """Empty for objects of the cluster's scope."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)

    def document(self) -> Body:
        """The object as the API server reads it: apiVersion, kind, metadata, then the body."""
        metadata: Body = {"name": self.name}
        if self.namespace:
            metadata["namespace"] = self.namespace
        if self.labels:
            metadata["labels"] = self.labels
        if self.annotations:
            metadata["annotations"] = self.annotations
        return {"apiVersion": self.api, "kind": self.kind, "metadata": metadata, **self.body}

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {where}{self.name}"


@dataclass(frozen=True, slots=True)
class Values:
    """The values file of one Helm chart."""

    file: str
    origin: Path
    component: str
    """The chart's key in the release set, for example "gpu-operator"."""
    body: Body
    embedded: dict[str, Any] = field(default_factory=dict)
    """Documents of texts in the body that are YAML themselves, by the text; nobody need parse it again."""

    @property
    def manifest(self) -> Manifest:
        """The values in the shape of an object, which findings point at."""
        return Manifest(self.file, self.origin, "", "values of", self.component, self.body)


@dataclass(frozen=True, slots=True)
class Text:
    """A file that is neither an object nor values: a README, a script."""

    file: str
    origin: Path
    text: str


Artifact = Manifest | Values | Text
"""Anything that is written. Manifests of one file follow one another in it, in the order they were emitted."""
