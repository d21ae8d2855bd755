"""Checks objects of custom kinds against the schemas and CEL rules of their CustomResourceDefinitions.

A table of a kind contains the schema and the rules. `gpuc crds import` wrote the tables to files, or gpuc makes the
tables from CustomResourceDefinitions in the input.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpuc.catalog.schemas import Table
from gpuc.catalog.schemas.schema_errors import ErrorKind, schema_errors, validator
from gpuc.catalog.schemas.structural import Schema
from gpuc.diagnostics.usage import UsageError
from gpuc.lint.crds.tables import are_names, imported_tables
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group
from gpuc.verify.fields.schema import RULES, verify_metadata

Contents = tuple[Table, Any, Schema, Schema]
"""A table with its validator, the tree of its rules and the tree of its formats."""
Source = Path | Mapping[tuple[str, str], Contents | None]
"""The folder of tables that `gpuc crds import` wrote, or the tables by apiVersion and kind; None for an unclear one."""


def defined(manifests: Sequence[Manifest]) -> Source:
    """Returns the tables (schema and CEL rules) of kinds that the input defines and of which the input has objects."""
    kinds = {(group(row), row.kind) for row in manifests}
    texts: dict[str, set[str]] = {}
    for row in manifests:
        spec = row.body.get("spec")
        kind = dig(spec, "group"), dig(spec, "names", "kind")
        if row.kind == "CustomResourceDefinition" and kind in kinds:
            with suppress(ValueError, RecursionError):
                for table in imported_tables(row.document()):
                    texts.setdefault(table.file, set()).add(table.text)
    files = {(row.api, row.kind): f"{group(row)}/{row.kind}_{row.api.rpartition('/')[2]}.json" for row in manifests}
    found = {kind: texts[file] for kind, file in files.items() if file in texts}
    return {kind: _contents(*kind, *several) if len(several) == 1 else None for kind, several in found.items()}


def imported_table(source: Source, api: str, kind: str) -> Table | None:
    """Returns the table (schema and CEL rules) of a kind; None if the source has no table of the kind.

    Raises:
        UsageError: when the file is not a table that `gpuc crds import` wrote.
    """
    contents = _found(source, api, kind)
    return contents[0] if contents else None


def crd_findings(source: Source, manifests: Sequence[Manifest], unchecked: Counter[str]) -> Iterator[ObjectFinding]:
    """Yields findings about objects that violate the schema or CEL rules of their kind; none for kinds without a table.

    Args:
        source: the tables.
        unchecked: a counter. For each rule that gpuc cannot evaluate, the function adds a sentence to it.
    """
    for manifest in manifests:
        contents = _found(source, manifest.api, manifest.kind)
        if contents is None:
            if not isinstance(source, Path):
                unchecked[f"fields of {manifest.kind}, which the input defines in several ways"] += 1
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


def has_table(source: Source, manifest: Manifest) -> bool:
    """Returns whether the source has a table (schema and CEL rules) for the kind of an object."""
    api, kind = manifest.api, manifest.kind
    return (api, kind) in source if not isinstance(source, Path) else _read(source, api, kind) is not None


def _found(source: Source, api: str, kind: str) -> Contents | None:
    return _read(source, api, kind) if isinstance(source, Path) else source.get((api, kind))


def _contents(api: str, kind: str, text: str) -> Contents:
    read = json.loads(text)
    api_group, _, version = api.rpartition("/")
    table = Table(api_group, version, kind, read["plural"], read["namespaced"], read["schema"])
    return table, validator(table.schema), read.get("rules", {}), read.get("shapes", {})


@lru_cache(maxsize=4096)
def _read(folder: Path, api: str, kind: str) -> Contents | None:
    """Returns the contents of the file of a kind; None without a file.

    Raises:
        UsageError: when the file is not a table that `gpuc crds import` wrote.
    """
    api_group, _, version = api.rpartition("/")
    if not are_names(group=api_group, version=version, kind=kind):
        return None
    path = folder / api_group / f"{kind}_{version}.json"
    if not path.is_file():
        return None
    try:
        return _contents(api, kind, path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not a table that `gpuc crds import` wrote: {error}") from error
