"""A cluster's own custom kinds: objects judged by the tables that were imported."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpuc.catalog.schemas import Table
from gpuc.catalog.schemas.structural import Schema
from gpuc.diagnostics.usage import UsageError
from gpuc.lint.crds.definitions import are_names
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify.fields.illegal_metadata import verify_metadata
from gpuc.verify.schema import MISSING_FIELD, UNKNOWN_FIELD, WRONG_VALUE
from gpuc.verify.schema_errors import ErrorKind, schema_errors, validator

_FAULTS = {ErrorKind.UNKNOWN: UNKNOWN_FIELD, ErrorKind.VALUE: WRONG_VALUE, ErrorKind.MISSING: MISSING_FIELD}


def own_table(folder: Path, api: str, kind: str) -> Table | None:
    """The table of a kind that was imported into a folder; None where there is none.

    Raises:
        UsageError: when the table's file is not what the import wrote.
    """
    found = _read(folder, api, kind)
    return found[0] if found else None


def crd_findings(folder: Path, manifests: Sequence[Manifest], unjudged: Counter[str]) -> Iterator[ObjectFinding]:
    """What the tables of a folder and their rules say against objects; kinds without a table are passed over.

    Args:
        folder: what `gpuc crds import` wrote.
        unjudged: takes a sentence for every rule that could not be evaluated.
    """
    for manifest in manifests:
        known = _read(folder, manifest.api, manifest.kind)
        if known is None:
            continue
        table, rules, shapes = known
        broken = False
        for item in schema_errors(_compiled(folder, table.api, table.kind), manifest.body, table.schema):
            if item.kind is not ErrorKind.QUANTITY:  # how Kubernetes would print a quantity is nobody's mistake
                broken = True
                on_key = item.kind is ErrorKind.UNKNOWN
                yield ObjectFinding(_FAULTS[item.kind], manifest, item.path, item.message, item.fix, on_key)
        yield from verify_metadata(manifest, namespaced=table.namespaced, as_written=True)
        if rules and not broken:  # as the API server does: rules read nothing that has another shape
            from gpuc.lint.crds.rules import broken_rules

            yield from broken_rules(manifest, table.schema, rules, shapes, unjudged)


@lru_cache(maxsize=4096)
def _read(folder: Path, api: str, kind: str) -> tuple[Table, Schema, Schema] | None:
    """A table, its rules and its shapes.

    Raises:
        UsageError: when the file is not what the import wrote.
    """
    group, _, version = api.rpartition("/")
    if not are_names(group=group, version=version, kind=kind):
        return None
    path = folder / group / f"{kind}_{version}.json"
    if not path.is_file():
        return None
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        table = Table(group, version, kind, read["plural"], read["namespaced"], read["schema"])
        return table, read.get("rules", {}), read.get("shapes", {})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no table that `gpuc crds import` wrote: {error}") from error


@lru_cache(maxsize=4096)
def _compiled(folder: Path, api: str, kind: str) -> Any:
    table = own_table(folder, api, kind)
    assert table is not None
    return validator(table.schema)
