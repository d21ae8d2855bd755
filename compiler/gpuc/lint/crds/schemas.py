"""Checks objects of custom kinds against the tables that `gpuc crds import` wrote."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpuc.catalog.schemas import Table
from gpuc.catalog.schemas.schema_errors import ErrorKind, schema_errors, validator
from gpuc.catalog.schemas.structural import Schema
from gpuc.diagnostics.usage import UsageError
from gpuc.lint.crds.tables import are_names
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.verify.fields.schema import RULES, verify_metadata


def imported_table(folder: Path, api: str, kind: str) -> Table | None:
    """Returns the imported table of a kind; None if the folder has no table of the kind.

    Raises:
        UsageError: when the file is not a table that `gpuc crds import` wrote.
    """
    contents = _read(folder, api, kind)
    return contents[0] if contents else None


def crd_findings(folder: Path, manifests: Sequence[Manifest], unchecked: Counter[str]) -> Iterator[ObjectFinding]:
    """Checks objects against the imported schemas and CEL rules. Objects of kinds without a table are skipped.

    Args:
        folder: the folder of tables that `gpuc crds import` wrote.
        unchecked: the counter to which a sentence about every rule that could not be evaluated is added.
    """
    for manifest in manifests:
        contents = _read(folder, manifest.api, manifest.kind)
        if contents is None:
            continue
        table, compiled, rules, formats = contents
        fits_schema = True
        for error in schema_errors(compiled, manifest.body, table.schema):
            if error.kind is not ErrorKind.QUANTITY:  # the API server accepts every spelling of a quantity
                fits_schema = False
                on_key = error.kind is ErrorKind.UNKNOWN
                yield ObjectFinding(RULES[error.kind], manifest, error.path, error.message, error.fix, on_key)
        yield from verify_metadata(manifest, namespaced=table.namespaced, as_written=True)
        if rules and fits_schema:  # the API server too evaluates rules only if the object fits the schema
            from gpuc.lint.crds.cel_rules import broken_rules

            yield from broken_rules(manifest, table.schema, rules, formats, unchecked)


@lru_cache(maxsize=4096)
def _read(folder: Path, api: str, kind: str) -> tuple[Table, Any, Schema, Schema] | None:
    """Returns a table with its validator, the tree of its rules and the tree of its formats; None without a table.

    Raises:
        UsageError: when the file is not a table that `gpuc crds import` wrote.
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
        return table, validator(table.schema), read.get("rules", {}), read.get("shapes", {})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not a table that `gpuc crds import` wrote: {error}") from error
