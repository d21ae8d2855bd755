"""The API server's defaults of an object, and those of the webhooks of JobSet and LeaderWorkerSet.

Kueue's webhooks also change new objects, for example spec.suspend; these changes depend on queues of the cluster.

The defaults are rows of the tables "defaults of pods" and "defaults of <kind>"; these tables have no checks.
"""

from __future__ import annotations

from gpuc.admission.documents import api_group, pod_part
from gpuc.admission.schema_defaults import with_schema_defaults
from gpuc.admission.validation.all_tables import tables
from gpuc.admission.validation.field import Field
from gpuc.admission.validation.structure import is_builtin, table_of, without_nulls
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig

_SUFFIX, _PREFIX_MAX = "xxxxx", 58
"""The suffix in place of the five random characters that follow generateName, and the maximum length before it."""


def with_defaults(document: Body) -> Body:
    """Returns a copy of an object with the defaults that the API server sets when the object is created.

    A new Job also gets the labels and the selector that the API server generates. An object with generateName gets a
    name that ends with "xxxxx".
    """
    complete: Body = without_nulls(document)
    set_defaults(complete)
    return complete


def set_defaults(complete: Body) -> None:
    """Sets the defaults in an object without nulls."""
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
