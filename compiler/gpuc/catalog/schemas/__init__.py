"""JSON Schemas of Kubernetes kinds and of Helm values. The schemas are strict: an unknown field is an error."""

from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct, json

from gpuc.catalog.records import EmbeddedDocument
from gpuc.catalog.schemas.structural import Schema
from gpuc.kubernetes.api_groups import CONSTRAINT_API
from gpuc.parts.folders import component_folder

TABLES = Path(__file__).parent
DERIVE = "run python -m tests.derive"
"""Text of a fix: the command that creates a missing table."""
_ANY_CONSTRAINT = "Constraint"
VALUES = "values.schema.json"
"""The file in the folder of a component with the schema of its Helm values."""


class Table(Struct, frozen=True):
    """The schema of a kind in one API version, with the names of the kind."""

    group: str
    """Empty for the core group."""
    version: str
    kind: str
    plural: str
    namespaced: bool
    schema: Schema
    """Closed JSON Schema (draft 2020-12) of all fields except apiVersion, kind, metadata and status."""

    @property
    def api(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def table(api: str, kind: str, kubernetes: str) -> Table | None:
    """Returns the schema and names of a kind; None if gpuc has no schema of the kind.

    Args:
        api: apiVersion, for example "karpenter.sh/v1".
        kubernetes: minor version, for example "1.35". Built-in kinds have different schemas in different versions.
    """
    if api == CONSTRAINT_API:
        return custom(api, _ANY_CONSTRAINT)
    return custom(api, kind) or _builtin(api, kind, kubernetes)


@cache
def chart(component: str) -> Schema | None:
    """Returns the schema of the Helm values of a component, for example "gpu-operator"; None if there is no schema."""
    path = component_folder(component) / VALUES
    return _read(path) if path.is_file() else None


@cache
def embedded(document: EmbeddedDocument) -> Schema:
    """Returns the schema of a YAML document that is a string in Helm values."""
    return _read(component_folder(document.component) / f"{document.kind}_{document.api.rpartition('/')[2]}.json")


@cache
def cel_source() -> Schema:
    """Returns the schema of the key `source`, which contains CEL expressions, in a ConstraintTemplate of Gatekeeper."""
    return _read(TABLES / "gatekeeper" / "K8sNativeValidation.json")


def custom_kinds() -> list[tuple[str, str]]:
    """Returns pairs of apiVersion and kind for all custom kinds with a schema, sorted."""
    files = sorted(TABLES.glob("crds/*/*.json"))
    parts = [(path.parent.name, *path.stem.rsplit("_", 1)) for path in files]
    return [(f"{group}/{version}", kind) for group, kind, version in parts]


def builtin_kinds(kubernetes: str) -> list[tuple[str, str]]:
    """Returns pairs of apiVersion and kind for all built-in kinds with a schema, sorted.

    The list is empty for an unknown Kubernetes version.
    """
    kinds = _builtins("kubernetes")["kinds"].get(kubernetes, {})
    return sorted((key.rpartition("/")[0], key.rpartition("/")[2]) for key in kinds)


def builtin_versions() -> list[str]:
    """Returns the minor versions of Kubernetes for which gpuc has schemas, sorted."""
    return sorted(_builtins("kubernetes")["kinds"])


@cache
def custom(api: str, kind: str) -> Table | None:
    """Returns the schema and the names of a custom kind; None if gpuc has no schema."""
    group, _, version = api.rpartition("/")
    path = TABLES / "crds" / group / f"{kind}_{version}.json"
    if not group or not path.is_file():
        return None
    read = _read(path)
    return Table(group, version, kind, read["plural"], read["namespaced"], read["schema"])


@cache
def _builtin(api: str, kind: str, kubernetes: str) -> Table | None:
    for file in ("kubernetes", "kubernetes-often"):  # the kinds that gpuc writes come first
        read = _builtins(file)
        entry = read["kinds"].get(kubernetes, {}).get(f"{api}/{kind}")
        if entry is not None:
            group, _, version = api.rpartition("/")
            schema = {**entry["schema"], "$defs": _referenced(entry["schema"], read["$defs"])}
            return Table(group, version, kind, entry["plural"], entry["namespaced"], schema)
    return None


@cache
def _builtins(file: str) -> Schema:
    return _read(TABLES / f"{file}.json")


def _referenced(schema: Any, definitions: Schema) -> Schema:
    """Returns the definitions that a schema references, directly or indirectly."""
    referenced: Schema = {}
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
            name = value["$ref"].rpartition("/")[2] if isinstance(value.get("$ref"), str) else ""
            if name and name not in referenced:
                referenced[name] = definitions[name]
                waiting.append(definitions[name])
    return referenced


def _read(path: Path) -> Schema:
    read: Schema = json.decode(path.read_bytes())
    return read
