"""CustomResourceDefinitions of the control plane: from upstream, from its programs, or from gpuc's schema tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuc.catalog.schemas import CONSTRAINTS, Table, custom_kinds, table
from gpuc.catalog.schemas.structural import Schema
from gpuc.manifest.manifest import Body
from gpuc.rehearse.programs import Programs

CONTROLLERS = ("kueue-crds", "gatekeeper-crds", "karpenter-crds")
"""Folders with the CustomResourceDefinitions of the programs."""
FRAMEWORKS = {"jobset.x-k8s.io/jobset": "jobset.x-k8s.io", "trainer.kubeflow.org/trainjob": "trainer.kubeflow.org"}
"""API group by the name of the Kueue integration that needs it."""
_ALWAYS = ("argoproj.io", "monitoring.coreos.com", "nvidia.com")
_UNUSED_GROUPS = ("mutations.gatekeeper.sh", "match.gatekeeper.sh")
"""Mutation is disabled, and the match definition only contains a schema; Gatekeeper never installs it."""
_READ_ONLY = (
    Table("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes", True, {"type": "object"}),
    Table(
        "trainer.kubeflow.org",
        "v1alpha1",
        "ClusterTrainingRuntime",
        "clustertrainingruntimes",
        False,
        {"type": "object"},
    ),
)
"""Kinds that Kueue's TrainJob integration needs to start. Upstream's definitions are very large, so these are empty."""
_NO_CHART = ("monitoring.coreos.com", *FRAMEWORKS.values())
"""API groups that no chart of a release set installs."""
_NAME = re.compile(rb"^metadata:\n(?:  .*\n)*?  name: (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Definitions:
    """CustomResourceDefinitions and their origin."""

    crds: tuple[bytes | Body, ...]
    upstream: int
    """Number of definitions from upstream's files."""
    structural: tuple[str, ...]
    """Names of the definitions from gpuc's tables: without CEL rules and without defaults."""


def definitions(
    programs: Programs, folder: Path | None, frameworks: Iterable[str], *, outside_charts: bool = False
) -> Definitions:
    """The definitions of all kinds that gpuc writes or that the controllers read.

    folder: CustomResourceDefinitions at any depth, which replace the definitions of the programs.
    outside_charts: without the kinds that the charts of a cluster and Argo CD install.
    """
    groups = {*_ALWAYS, *(FRAMEWORKS[name] for name in frameworks if name in FRAMEWORKS)}
    bundled = dict(_files(path for name in CONTROLLERS for path in _yaml_below(programs.data(name))))
    simulated = dict(_files(_yaml_below(programs.data("karpenter-kwok-crds"))))
    own = {name: made for name, made in _from_tables() if name in bundled or _group(name) in groups}
    given = dict(_files(_yaml_below(folder))) if folder else {}
    wanted: dict[str, bytes | Body] = {**own, **bundled}
    small = {f"{entry.plural}.{entry.group}" for entry in _READ_ONLY}
    wanted |= {name: text for name, text in given.items() if name in wanted and name not in small}
    chosen = {name: made for name, made in {**wanted, **simulated}.items() if _group(name) not in _UNUSED_GROUPS}
    if outside_charts:
        chosen = {name: made for name, made in chosen.items() if name in simulated or _group(name) in _NO_CHART}
    structural = tuple(name for name, made in chosen.items() if isinstance(made, dict) and name not in small)
    return Definitions(tuple(chosen.values()), sum(isinstance(made, bytes) for made in chosen.values()), structural)


def structural_definition(entry: Table) -> Body:
    """A CustomResourceDefinition from a schema table: typed fields and an open status."""
    preserved = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = _structural(entry.schema, entry.schema.get("$defs", {}))
    schema["properties"] = schema.get("properties", {}) | {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "status": preserved,
    }
    version = {
        "name": entry.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"kind": entry.kind, "plural": entry.plural}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{entry.plural}.{entry.group}"},
        "spec": {
            "group": entry.group,
            "names": names,
            "scope": "Namespaced" if entry.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _from_tables() -> Iterator[tuple[str, Body]]:
    """(name, definition) of every custom kind in its newest version, and of the kinds that controllers only read."""
    for entry in _READ_ONLY:
        yield f"{entry.plural}.{entry.group}", structural_definition(entry)
    for api, kind in custom_kinds():
        known = table(api, kind, "")
        if known is not None and api != CONSTRAINTS:
            yield f"{known.plural}.{known.group}", structural_definition(known)


_KEPT = (
    "type", "format", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
    "minProperties", "maxProperties", "required", "default", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
)  # fmt: skip


def _structural(schema: Schema, defs: Mapping[str, Schema]) -> Schema:
    """A strict schema as a structural schema: references are replaced, and unknown fields are allowed."""
    if "$ref" in schema:
        schema = {**defs[schema["$ref"].rpartition("/")[2]], **{k: v for k, v in schema.items() if k != "$ref"}}
    if isinstance(schema.get("type"), list) or schema.get("format") == "quantity":
        return {"x-kubernetes-int-or-string": True}
    made = {key: schema[key] for key in _KEPT if key in schema}
    if "properties" in schema:
        made["properties"] = {name: _structural(child, defs) for name, child in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        made["items"] = _structural(schema["items"], defs)
    if keys := schema.get("x-kubernetes-list-map-keys"):
        made |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    if isinstance(extra := schema.get("additionalProperties"), dict):
        made["additionalProperties"] = _structural(extra, defs)
    if "type" not in made:
        made = {"x-kubernetes-preserve-unknown-fields": True}
    return made


def _files(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of every CustomResourceDefinition among the files."""
    for path in paths:
        text = path.read_bytes()
        named = _NAME.search(text)
        if b"\nkind: CustomResourceDefinition\n" in b"\n" + text and named:
            yield named[1].decode(), text


def _yaml_below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.yaml"))


def _group(name: str) -> str:
    return name.partition(".")[2]
