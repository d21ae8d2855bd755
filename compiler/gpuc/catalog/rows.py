"""Reads the JSON files of the catalog: converts the rows of each table into objects, and finds wrong keys."""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode
from msgspec.structs import fields

from gpuc.diagnostics.finding import DeclarationError
from gpuc.diagnostics.spelling import nearest
from gpuc.parts.folders import component_folders, substrate_folder

FOLDER = Path(__file__).parent
_RELEASES = "releases"
"""The file whose tables also have the rows of the files release.json of all components."""

_TABLES = {
    ("datapaths", "datapaths"): ("operations.DatapathFact", ("engine", "subject")),
    ("dcgm", "metrics"): ("operations.DcgmMetric", ("name",)),
    ("ec2", "families"): ("ec2.Ec2Family", ("family",)),
    ("ec2", "unpublished"): ("ec2.UnpublishedTypes", ("family",)),
    ("gpus", "gpus"): ("records.Gpu", ("id",)),
    ("images", "images"): ("records.Image", ("id",)),
    ("instances", "instances"): ("records.InstanceType", ("type",)),
    ("instances", "unsupported"): ("records.UnsupportedInstance", ("type",)),
    ("kubelet", "kubelet"): ("operations.Kubelet", ()),
    ("mig", "profiles"): ("records.MigProfile", ("set", "profile")),
    ("mig", "sets"): ("records.MigProfileSet", ("id",)),
    ("nccl", "pod"): ("operations.EfaPod", ()),
    ("nccl", "variables"): ("operations.NcclVariable", ("name",)),
    ("nccl", "verdicts"): ("operations.NcclVerdict", ("name", "value")),
    ("prices", "prices"): ("prices.FamilyPrices", ("family",)),
    ("registries", "eks"): ("records.EksRegistry", ("region",)),
    ("releases", "components"): ("records.Release", ("set", "component")),
    ("releases", "daemonsets"): ("records.Daemonset", ("name",)),
    ("releases", "documents"): ("records.EmbeddedDocument", ("component", "kind")),
    ("releases", "nulls"): ("records.NullField", ("component", "version", "kind", "value")),
    ("releases", "operands"): ("records.Operand", ("operator", "operand")),
    ("reserved_keys", "keys"): ("reserved_keys.ReservedKey", ("key",)),
    ("servers", "servers"): ("records.InstanceType", ("type",)),
    ("time_zones", "zones"): ("operations.TimeZone", ("name",)),
    ("versions", "kubernetes"): ("operations.KubernetesVersion", ("version",)),
    ("xids", "xids"): ("operations.Xid", ("xid",)),
}
"""The record type, as module and class of this package, and the identifying fields of each table, by file and table."""


@cache
def _table(file: str, table: str) -> tuple[type, tuple[str, ...]]:
    """Returns the record type and the identifying fields of a table, and imports the module of the record type."""
    path, keys = _TABLES[file, table]
    module, _, name = path.partition(".")
    record_type: type = getattr(import_module(f"{__package__}.{module}"), name)
    return record_type, keys


def tables() -> dict[tuple[str, str], tuple[type, tuple[str, ...]]]:
    """Returns the class and the identifying fields of each table, by the name of the file and of the table."""
    return {names: _table(*names) for names in _TABLES}


def by_key(file: str, table: str) -> dict[Any, Any]:
    """Returns the rows of a table by the value of the identifying field; for two such fields, in nested maps."""
    _, (*outer, last) = _table(file, table)
    found: dict[Any, Any] = {}
    for row in typed(file, table):
        rows = found
        for name in outer:
            rows = rows.setdefault(getattr(row, name), {})
        rows[getattr(row, last)] = row
    return found


def typed(file: str, table: str) -> list[Any]:
    """Returns the rows of a table as objects of its class. JSON arrays become tuples.

    Raises:
        DeclarationError: when a required key is missing from a row, or a key of a row is unknown. The types of values
            are not checked, because every run of gpuc reads the tables. tests/derive/rows.py checks them.
    """
    record_type, _ = _table(file, table)
    typed_rows = []
    for row in read(file)[table]:
        try:
            typed_rows.append(
                record_type(**{key: tuple(value) if value.__class__ is list else value for key, value in row.items()})
            )
        except TypeError:
            raise DeclarationError("\n".join(key_errors(file, table, row))) from None
    return typed_rows


@cache
def read(file: str) -> dict[str, Any]:
    """Returns the tables and sources in a JSON file of the catalog. Adds the release.json of components to releases.

    Raises:
        DeclarationError: when the file is not JSON.
    """
    tables = _json(FOLDER / f"{file}.json")
    for folder in component_folders().values() if file == _RELEASES else ():
        for name, rows in _json(folder / "release.json").items():
            substrate = substrate_folder(folder) if name == "components" else ""
            own = {"substrate": substrate} if substrate else {}
            listed = () if name == "sources" else ({**row, **own} for row in rows)
            tables[name] = {**tables[name], **rows} if name == "sources" else [*tables.get(name, ()), *listed]
    return tables


def _json(path: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = decode(path.read_bytes())
    except DecodeError as error:
        raise DeclarationError(f"{path.parent.name}/{path.name}: {error}") from None
    return data


def key_errors(file: str, table: str, row: dict[str, Any]) -> Iterator[str]:
    """Yields an error for each required key that is missing in a row, and for each unknown key."""
    known = fields(_table(file, table)[0])
    for field in known:
        if field.name not in row and field.required:
            yield f'{location(file, table, row)}: key "{field.name}" is missing'
    names = [field.name for field in known]
    for key in row:
        if key not in names:
            yield f'{location(file, table, row)}: unknown key "{key}", {choices(key, names)}'


def location(file: str, table: str, row: dict[str, Any]) -> str:
    """Returns a text that names the file, the table and the row, for messages."""
    name = " ".join(str(row.get(key, "")) for key in _table(file, table)[1]).strip()
    place = f"catalog/{file}.json" + (" or release.json of a component" if file == _RELEASES else "")
    return f'{place}, table "{table}", row {name or json.dumps(row)}'


def choices(word: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown word: the most similar known word, or all known words."""
    suggestion = nearest(word, known)
    return f'did you mean "{suggestion}"' if suggestion else f"known are {', '.join(sorted(known))}"
