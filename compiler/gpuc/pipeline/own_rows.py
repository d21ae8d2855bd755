"""Converts the files of specs/catalog/ into entries of the catalog, and finds mistakes in the files."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.catalog import load
from gpuc.catalog.own_rows import OwnRows
from gpuc.catalog.prices import Price
from gpuc.catalog.records import FLEET, Daemonset, Image, InstanceType
from gpuc.diagnostics.finding import Finding, Mark, Path, rule_table
from gpuc.diagnostics.spelling import nearest, write
from gpuc.kubernetes.amounts import MIB
from gpuc.pipeline.fact_files import FactFile
from gpuc.source import Source
from gpuc.spec.facts import ImageRow, InstanceRow

rule_of = rule_table(__file__)
INCOMPLETE = rule_of("CAT002")
UNKNOWN_GPU = rule_of("CAT003")
TWICE = rule_of("CAT004")
REPEATED = rule_of("CAT005")
CONTRADICTION = rule_of("CAT006")
UNKNOWN_TYPE = rule_of("CAT007")

_REQUIRED = ("arch", "vcpu", "memory_mib", "pods")
_Record = TypeVar("_Record", InstanceType, Image, Daemonset)
_Row = TypeVar("_Row")


class _Merge(Struct):
    """The rows that were converted, and the findings about them."""

    instances: dict[str, InstanceType] = field(default_factory=dict)
    images: dict[str, Image] = field(default_factory=dict)
    daemonsets: dict[str, Daemonset] = field(default_factory=dict)
    prices: list[Price] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    _first: dict[tuple[str, ...], Mark] = field(default_factory=dict)
    """For each thing, the position of the first row about the thing."""

    def first(self, section: str, rows: Mapping[Any, _Row], source: Source) -> Iterator[tuple[str, _Row, Path]]:
        """Yields name, value and path of each entry in a section. For a name that was read before, adds a finding."""
        for name, row in rows.items():
            if self.is_first((section, name), (section, name), source):
                yield name, row, (section, name)

    def is_first(self, thing: tuple[str, ...], path: Path, source: Source) -> bool:
        """Returns whether the entry is the first about its subject. Adds a finding if there is an earlier entry."""
        mark = source.locate(path, on_key=True)
        if thing not in self._first:
            self._first[thing] = mark
            return True
        first = self._first[thing]
        message = f"{first.file}, line {first.line}, has a row about {' '.join(thing[1:])} too; expected one row"
        self.findings.append(TWICE.at(path, message, mark=mark))
        return False


def merge(files: Iterable[FactFile]) -> tuple[OwnRows, list[Finding]]:
    """Returns the entries of all files in specs/catalog/, and the findings about the files."""
    merged = _Merge()
    for file in files:
        found = [*_instances(merged, file), *_images(merged, file), *_daemonsets(merged, file)]
        merged.findings += map(file.source.located, found)
    for file in files:  # prices may be about instance types of a later file
        merged.findings += map(file.source.located, _prices(merged, file))
    own = OwnRows(merged.instances, merged.images, merged.daemonsets, tuple(merged.prices))
    return own, merged.findings


def _instances(merged: _Merge, file: FactFile) -> Iterator[Finding]:
    for name, row, path in merged.first("instanceTypes", file.content.instance_types, file.source):
        known = load().instance_type(name)
        findings = [*_incomplete(name, row, known, path), *_wrong_gpu(row, path)]
        yield from findings
        if findings:
            continue
        record = _instance(name, row, known)
        yield from _contradictions(record, path)
        yield from _repeated(record, known, name, path)
        merged.instances[name] = record


def _incomplete(name: str, row: InstanceRow, known: InstanceType | None, path: Path) -> Iterator[Finding]:
    """Yields a finding if neither the row nor gpuc has a required figure of the instance type."""
    required = [key for key in _REQUIRED if known is None and getattr(row, key) is None]
    if row.gpu and not row.gpu_count and (known is None or not known.gpu_count):
        required.append("gpu_count")
    if row.gpu_count and not row.gpu and (known is None or not known.gpu):
        required.append("gpu")
    if required:
        keys = ", ".join(InstanceRow.model_fields[key].alias or key for key in required)
        message = f"the row of {name} has no {keys}; gpuc has no such figures of this instance type"
        yield INCOMPLETE.at(path, message, on_key=True)


def _wrong_gpu(row: InstanceRow, path: Path) -> Iterator[Finding]:
    gpus = load().gpus
    if row.gpu is not None and row.gpu not in gpus:
        message = f'GPU "{row.gpu[:80]}" is unknown; `gpuc catalog gpus` lists the ids'
        yield UNKNOWN_GPU.at((*path, "gpu"), message, fix=write(nearest(row.gpu, gpus)))


def _instance(name: str, row: InstanceRow, known: InstanceType | None) -> InstanceType:
    """Returns the record of a row. Figures that the row does not have are the figures of gpuc."""
    given = _given(row)
    if known is not None:
        record = replace(known, **given)
    else:
        record = InstanceType(type=name, family=name.partition(".")[0], **given)
    if row.network_cards is None and record.efa > record.network_cards:
        record = replace(record, network_cards=record.efa)
    return record


def _given(row: InstanceRow | ImageRow) -> dict[str, Any]:
    """Returns the figures that a row has, and its source, as values of a record."""
    given: dict[str, Any] = {key: value for key, value in row if value is not None}
    return {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()} | {
        "source": (row.source,),
        "confidence": "high",
    }


def _contradictions(record: InstanceType, path: Path) -> Iterator[Finding]:
    if record.efa > record.network_cards:
        message = f"efa is {record.efa}; expected at most {record.network_cards}, the number of network cards"
        yield CONTRADICTION.at((*path, "efa"), message)
    if record.nvswitch and not record.gpu:
        yield CONTRADICTION.at((*path, "nvswitch"), "nvswitch is true; expected false for a type without GPUs")


def _repeated(record: _Record, known: _Record | None, name: str, path: Path) -> Iterator[Finding]:
    if known is not None and replace(record, source=known.source, confidence=known.confidence) == known:
        message = f"gpuc has the same values for {name}; expected a row with other values"
        yield REPEATED.at(path, message, on_key=True)


def _images(merged: _Merge, file: FactFile) -> Iterator[Finding]:
    for name, row, path in merged.first("images", file.content.images, file.source):
        known = load().images[name]
        merged.images[name] = replace(known, **_given(row))
        yield from _repeated(merged.images[name], known, name, path)


def _daemonsets(merged: _Merge, file: FactFile) -> Iterator[Finding]:
    known = {row.name: row for row in load().daemonsets}
    for name, row, path in merged.first("daemonSets", file.content.daemon_sets, file.source):
        other = known.get(name)
        cpu_milli, memory_mib = int(row.cpu.removesuffix("m")), -(-row.memory // MIB)
        component = other.component if other is not None else FLEET
        merged.daemonsets[name] = Daemonset(name, component, row.nodes, cpu_milli, memory_mib, (row.source,))
        yield from _repeated(merged.daemonsets[name], other, name, path)


def _prices(merged: _Merge, file: FactFile) -> Iterator[Finding]:
    catalog = load()
    for index, row in enumerate(file.content.prices):
        path = ("prices", index)
        thing = ("prices", row.instance_type, row.region, row.purchase, row.date)
        if not merged.is_first(thing, path, file.source):
            continue
        if row.instance_type not in merged.instances and catalog.instance_type(row.instance_type) is None:
            message = f"gpuc has no figures for {row.instance_type}; expected an instance type with figures"
            yield UNKNOWN_TYPE.at((*path, "instanceType"), message)
        price = Price(row.instance_type, row.region, row.purchase, row.hourly_usd, row.date, row.source)
        merged.prices.append(price)
