"""Every object against the schema of its kind, as strictly as no API server does it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from gpuc.catalog.schemas import CONSTRAINTS, Table, builtin_kinds, custom_kinds, table
from gpuc.diagnostics.finding import Finding, Severity, fault
from gpuc.diagnostics.spelling import nearest
from gpuc.manifest.manifest import Manifest
from gpuc.objects.flaw import Flaw
from gpuc.verify.metadata import verify_metadata
from gpuc.verify.mismatch import Fit, Mismatch, mismatches, validator
from gpuc.verify.nulls_and_duplicates import verify_shape
from gpuc.verify.templates import declared_parameters, open_parts, parameter_mismatches

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

UNKNOWN_FIELD = fault(
    "SCH001",
    Severity.ERROR,
    "An object has a field that its kind does not have.",
    "The API server drops the field, or refuses the object, and the setting has no effect.",
)
WRONG_VALUE = fault(
    "SCH002",
    Severity.ERROR,
    "A value has another type, range, pattern or word than its field allows.",
    "The API server refuses the object and its Application does not sync.",
)
MISSING_FIELD = fault(
    "SCH003",
    Severity.ERROR,
    "An object lacks a field that its kind requires.",
    "The API server refuses the object and its Application does not sync.",
)
UNKNOWN_KIND = fault(
    "SCH004",
    Severity.ERROR,
    "An object is of a kind or version without a schema.",
    "Nothing is known of it, so nothing in it could be checked.",
)
NOT_CANONICAL = fault(
    "SCH005",
    Severity.ERROR,
    "A quantity is not in the form in which Kubernetes stores it.",
    "Argo CD compares text with what is stored and shows a difference that no sync ends.",
    "k8s.io/apimachinery v0.35, pkg/api/resource/quantity.go",
)
_FAULTS = {
    Fit.UNKNOWN: UNKNOWN_FIELD,
    Fit.VALUE: WRONG_VALUE,
    Fit.MISSING: MISSING_FIELD,
    Fit.QUANTITY: NOT_CANONICAL,
}


def verify_schemas(manifests: Sequence[Manifest], kubernetes: str) -> list[Finding]:
    """All that is wrong with emitted objects: fields, values and metadata in their order, then the tree.

    Args:
        kubernetes: the cluster's minor version, for example "1.35".
    """
    flaws = [*schema_flaws(manifests, kubernetes), *verify_shape(manifests)]
    return [flaw.finding() for flaw in flaws]


def schema_flaws(manifests: Sequence[Manifest], kubernetes: str, *, as_written: bool = False) -> list[Flaw]:
    """Every field, value and piece of metadata that the API server of a minor version would drop or refuse.

    Args:
        as_written: whether people wrote the objects: quantities may be numbers then, as the API server takes them, and
            a namespace may come from elsewhere.
    """
    parameters = declared_parameters(manifests)
    found: list[Flaw] = []
    for manifest in manifests:
        known = table(manifest.api, manifest.kind, kubernetes)
        if known is None or (manifest.api == CONSTRAINTS and manifest.kind not in parameters):
            found.append(_unknown_kind(manifest, kubernetes))
            continue
        found.extend(
            Flaw(_FAULTS[item.fit], manifest, item.path, item.message, item.fix, on_key=item.fit is Fit.UNKNOWN)
            for item in _of(manifest, known, kubernetes, parameters, as_written)
        )
        found.extend(verify_metadata(manifest, namespaced=known.namespaced, as_written=as_written))
    return found


def _of(
    manifest: Manifest, known: Table, kubernetes: str, parameters: dict[str, str], as_written: bool
) -> Iterator[Mismatch]:
    yield from mismatches(_compiled(known.api, known.kind, kubernetes, as_written), manifest.body, known.schema)
    if manifest.api == CONSTRAINTS:
        yield from parameter_mismatches(manifest, parameters[manifest.kind])
    if manifest.kind == "ConstraintTemplate":
        yield from open_parts(manifest)


@cache
def _compiled(api: str, kind: str, kubernetes: str, as_written: bool) -> Draft202012Validator:
    known = table(api, kind, kubernetes)
    assert known is not None
    return validator(written(known.schema) if as_written else known.schema)


def written(schema: Any) -> Any:
    """The same schema for what people write: a quantity may be a number, and what has a default may be left out."""
    if isinstance(schema, list):
        return [written(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "quantity" and schema.get("type") == "string":
        return {**schema, "type": ["string", "number"]}
    parts = {key: written(each) for key, each in schema.items()}
    required, properties = parts.get("required"), parts.get("properties")
    if isinstance(required, list) and isinstance(properties, dict):
        parts["required"] = [name for name in required if "default" not in properties.get(name, {})]
    return parts


def _unknown_kind(manifest: Manifest, kubernetes: str) -> Flaw:
    if manifest.api == CONSTRAINTS:
        reason = f'no ConstraintTemplate of this tree declares the kind "{manifest.kind}"'
    else:
        known = [f"{api} {kind}" for api, kind in (*builtin_kinds(kubernetes), *custom_kinds())]
        near = nearest(f"{manifest.api} {manifest.kind}", known)
        reason = f"no schema of {manifest.api} {manifest.kind} in Kubernetes {kubernetes} or the release set"
        reason += f', did you mean "{near}"' if near else ""
    return Flaw(UNKNOWN_KIND, manifest, ("kind",), reason)
