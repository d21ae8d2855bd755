"""The class Subject: what the checks of the output read, and results that several checks use."""

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gpuc.catalog.schemas import Table, table
from gpuc.catalog.schemas.schema_errors import ErrorKind, SchemaError, schema_errors, validator
from gpuc.catalog.schemas.structural import Schema
from gpuc.catalog.schemas.written import written
from gpuc.kubernetes.api_groups import CONSTRAINT_API
from gpuc.manifest.manifest import Manifest, Values
from gpuc.objects.object_set import ObjectSet
from gpuc.verify.templates import declared_parameters, parameter_errors, template_errors
from gpuc.verify.values import value_errors

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

    from gpuc.cluster.index import Index


class Subject(Struct, frozen=True, dict=True):
    """The objects and Helm values that the checks read together, usually the output for one cluster."""

    objects: ObjectSet
    kubernetes: str
    """The cluster's minor version, for example "1.35"."""
    releases: Mapping[str, Any] = field(default_factory=dict)
    """The cluster's releases by component. Values of any other component are a finding."""
    values: tuple[Values, ...] = ()
    """The Helm values of all components."""
    as_written: bool = False
    """Whether people wrote the objects. Then quantities may be numbers, and the namespace may be missing."""

    @classmethod
    def of(cls, objects: ObjectSet) -> "Subject":
        """Returns a Subject with only these objects, for checks that need neither schemas nor Helm values."""
        return objects.once(_without_schemas)

    @property
    def index(self) -> "Index":
        """The pods, node pools, namespaces and references in the objects."""
        from gpuc.cluster.index import Index  # imported here, because an explanation of a check loads no model

        return self.objects.once(Index)

    @cached_property
    def tables(self) -> tuple[tuple[Manifest, Table | None], ...]:
        """Each object, with the schema and names of its kind; None for an unknown kind."""
        return tuple((manifest, self._table(manifest)) for manifest in self.objects.manifests)

    @property
    def schema_errors(self) -> Iterator[tuple[Manifest, SchemaError]]:
        """Each object that violates the schema of its kind, with the violation."""
        known = ((manifest, table) for manifest, table in self.tables if table is not None)
        return ((manifest, error) for manifest, table in known for error in self._errors_of(manifest, table))

    def value_errors(self, *kinds: ErrorKind) -> Iterator[tuple[Values, SchemaError]]:
        """Yields Helm values and how they violate the schema of their chart, for the violations of these kinds."""
        return ((values, item) for values, item in self._value_errors if item.kind in kinds)

    @cached_property
    def _parameters(self) -> dict[str, str]:
        return declared_parameters(self.objects.manifests)

    def _table(self, manifest: Manifest) -> Table | None:
        if manifest.api == CONSTRAINT_API and manifest.kind not in self._parameters:
            return None
        return table(manifest.api, manifest.kind, self.kubernetes)

    def _errors_of(self, manifest: Manifest, table: Table) -> Iterator[SchemaError]:
        key = (table.api, table.kind, self.kubernetes, self.as_written)
        yield from schema_errors(_compiled(*key), manifest.body, _schema(*key))
        if manifest.api == CONSTRAINT_API:
            yield from parameter_errors(manifest, self._parameters[manifest.kind])
        if manifest.kind == "ConstraintTemplate":
            yield from template_errors(manifest)

    @cached_property
    def _value_errors(self) -> tuple[tuple[Values, SchemaError], ...]:
        return tuple((values, item) for values in self.values for item in value_errors(values))


def _without_schemas(objects: ObjectSet) -> Subject:
    return Subject(objects, "")


@cache
def _compiled(api: str, kind: str, kubernetes: str, as_written: bool) -> "Draft202012Validator":
    return validator(_schema(api, kind, kubernetes, as_written))


@cache
def _schema(api: str, kind: str, kubernetes: str, as_written: bool) -> Schema:
    known = table(api, kind, kubernetes)
    assert known is not None
    return written(known.schema) if as_written else known.schema
