"""Predicts which fields of a new object the API server refuses, after it sets the defaults.

The defaults are rows of the tables "defaults of pods" and "defaults of <kind>", which contain no checks. The API server
and the webhooks of JobSet and LeaderWorkerSet set these defaults. Kueue's webhooks also change new objects, for example
the field spec.suspend. The tables do not contain the changes of Kueue, which depend on queues of the cluster.
"""

from collections.abc import Iterator

from gpuc.admission.documents import api_group, pod_part
from gpuc.admission.request import Decision
from gpuc.admission.schema_defaults import with_schema_defaults
from gpuc.admission.validation.all_tables import tables
from gpuc.admission.validation.field import Field, Problems
from gpuc.admission.validation.metadata import structure_of_metadata
from gpuc.admission.validation.structure import KUBERNETES, is_builtin, structure, table_of, without_nulls
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig

_SUFFIX, _PREFIX_MAX = "xxxxx", 58
"""The suffix in place of the five random characters that follow generateName, and the maximum length before it."""


def with_defaults(document: Body) -> Body:
    """Returns a copy of an object with the defaults that the API server sets when it creates the object.

    A new Job also gets the labels and the selector that the API server generates. An object with generateName gets a
    name that ends with "xxxxx".
    """
    complete: Body = without_nulls(document)
    set_defaults(complete)
    return complete


def set_defaults(complete: Body) -> None:
    """Sets the defaults of the API server in an object. The object must have no nulls."""
    metadata = complete.get("metadata")
    prefix = dig(metadata, "generateName")
    if isinstance(metadata, dict) and not metadata.get("name") and isinstance(prefix, str) and prefix:
        metadata["name"] = prefix[:_PREFIX_MAX] + _SUFFIX
    known = table_of(complete)
    if known is not None and not is_builtin(complete):
        body = {name: complete[name] for name in complete if name not in ("apiVersion", "kind", "metadata", "status")}
        complete.update(with_schema_defaults(body, known.schema, known.schema.get("$defs")))
    table = f"defaults of {api_group(complete)}/{complete.get('kind')}"
    if table in tables():
        tables().problems(table, Field((), complete))
    if part := pod_part(complete):
        tables().problems("defaults of pods", Field((), part.spec))


def validation_errors(document: Body, *, strict: bool = True, kubernetes: str = KUBERNETES) -> Iterator[Decision]:
    """Yields a decision for every field because of which the API server or a webhook refuses a new object.

    A decision is "unknown" for a kind without a schema, and for a field that gpuc does not check.

    Args:
        document: the complete object as a user or controller sends it, without the API server's defaults.
        strict: whether unknown fields are errors, as for objects of kubectl; for objects of controllers, they are not.
        kubernetes: the minor version whose fields the object may have. The other checks are those of 1.35.
    """
    kind = f"{api_group(document)}/{document.get('kind')}"
    if kind not in tables() or table_of(document, kubernetes) is None:
        message = f"gpuc has no table of the fields of {document.get('apiVersion')} {document.get('kind')}"
        yield Decision("unknown", "API server", message, field=("kind",))
        return
    reported: set[Path] = set()
    for problem in _problems(document, kind, strict=strict, kubernetes=kubernetes):
        if problem.field not in reported:
            reported.add(problem.field)
            yield problem


def _problems(document: Body, kind: str, *, strict: bool, kubernetes: str) -> Problems:
    yield from structure_of_metadata(document, strict=strict)
    complete = without_nulls(document)
    yield from structure(document, complete, strict=strict, kubernetes=kubernetes)
    if document.get("status") not in (None, {}):
        reason = "the API server drops it, but refuses unknown fields and wrong types"
        yield Field(("status",), None).not_checked(reason)
    set_defaults(complete)
    name = f"name of {kind}"
    for table in (name if name in tables() else "name of objects", "object", kind):
        yield from tables().problems(table, Field((), complete))
