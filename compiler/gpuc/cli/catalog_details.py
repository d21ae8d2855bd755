"""Prints one entry of the catalog for `gpuc catalog show`: its values, and MIG placements as a picture."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, to_builtins

from gpuc.catalog import Catalog
from gpuc.catalog.records import Gpu, MigProfile, MigProfileSet
from gpuc.catalog.rows import read
from gpuc.cli.catalog_entries import FAMILIES, GPUS, MIG, TYPES, Entry
from gpuc.diagnostics.report.document import Block, picked
from gpuc.model.layout import place

_FILES = {TYPES: "instances", GPUS: "gpus", MIG: "mig", "images": "images", "daemonsets": "releases"}
_FILES |= {"kubernetes": "versions", "regions": "registries"}
"""The JSON file of the catalog with the sources of a subject."""
_UNIT = 4
"""The width of a placement unit in the picture, in characters."""


def details(catalog: Catalog, entry: Entry) -> dict[str, Any]:
    """Returns the values of an entry of the catalog as JSON data."""
    values: dict[str, Any] = {"subject": entry.subject, "name": entry.name, "own": entry.is_own}
    if entry.subject == FAMILIES:
        return values | {"summary": entry.summary, "types": [row.type for row in entry.row]}
    row = to_builtins(entry.row) if isinstance(entry.row, Struct) else dict(entry.row)
    sources = row.pop("source", ())
    row.pop("profiles", None)
    values |= {key: list(value) if isinstance(value, tuple) else value for key, value in row.items()}
    if entry.subject == TYPES:
        prices = map(to_builtins, catalog.prices(entry.row.type))
        values["prices"] = [{key: part for key, part in row.items() if key != "instance_type"} for row in prices]
    if entry.subject in (GPUS, MIG):
        values |= _mig(catalog, entry.row)
    values["source"] = _sources(catalog, entry, sources)
    return values


def _sources(catalog: Catalog, entry: Entry, sources: Any) -> list[str]:
    """Returns the texts of the sources of an entry. Rows of a fleet have texts; rows of gpuc have keys of texts."""
    if entry.is_own or not sources:
        return [sources] if isinstance(sources, str) else list(sources)
    file = _FILES[entry.subject]
    if entry.subject == TYPES and entry.name not in catalog.instances:
        file = "servers" if entry.name in catalog.servers else "ec2"
    texts = read(file)["sources"]
    return [texts[key] for key in sources]


def _mig(catalog: Catalog, row: Gpu | MigProfileSet) -> dict[str, Any]:
    profiles = row if isinstance(row, MigProfileSet) else catalog.profile_sets.get(row.id)
    if profiles is None:
        return {"mig_profiles": []}
    names = "profile memory_slices starts size smi_id"
    rows = profiles.profiles.values()
    return {"mig_profiles": [picked(row, names) | {"max": _maximum(row, profiles)} for row in rows]}


def _maximum(profile: MigProfile, profiles: MigProfileSet) -> int | None:
    """Returns how many instances of a profile fit on one GPU; None if the placements are unpublished."""
    if not profiles.placement_units or not profile.starts:
        return None
    if profile.media in ("me", "me.all"):
        return 1
    counts = range(1, profiles.placement_units + 1)
    return max((count for count in counts if place({profile.profile: count}, profiles) is not None), default=0)


def blocks(catalog: Catalog, entry: Entry) -> Iterator[Block]:
    """Yields the lines of the report about an entry of the catalog. For a GPU, they include the MIG placements."""
    values = details(catalog, entry)
    yield f"{entry.name}: {entry.subject}{' (row of the fleet)' if entry.is_own else ''}"
    for key, value in values.items():
        if key not in ("subject", "name", "own", "mig_profiles") and value not in ("", None, []):
            yield from (f"  {key if not number else '':24}  {line}" for number, line in enumerate(_lines(value)))
    if "mig_profiles" in values:
        yield from ("", *_picture(catalog, entry.row))


def _lines(value: Any) -> list[str]:
    if isinstance(value, list):
        return [line for item in value for line in _lines(item)]
    if isinstance(value, dict):
        return ["  ".join(f"{item:g}" if isinstance(item, float) else str(item) for item in value.values())]
    return [{True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)]


def _picture(catalog: Catalog, row: Gpu | MigProfileSet) -> Iterator[str]:
    """Yields the lines of a picture: for each MIG profile its possible positions on the placement units of a GPU."""
    profiles = row if isinstance(row, MigProfileSet) else catalog.profile_sets.get(row.id)
    if profiles is None:
        yield "The GPU does not support MIG."
        return
    if not profiles.placement_units:
        yield f"MIG profiles with unpublished placements: {', '.join(profiles.profiles)}"
        return
    width = max(len("profile"), *map(len, profiles.profiles))
    units = "".join(f"{unit:<{_UNIT}}" for unit in range(profiles.placement_units))
    yield f"MIG profiles of {', '.join(profiles.gpus)}. A GPU has {profiles.memory_slices} memory slices and "
    yield f"{profiles.placement_units} placement units. max: instances of the profile on one GPU without others."
    yield ""
    yield f"{'profile':{width}}  {'slices':>6}  {'max':>3}  {units}"
    for profile in profiles.profiles.values():
        maximum = _maximum(profile, profiles)
        start = f"{profile.profile:{width}}  {profile.memory_slices:>6}  {maximum if maximum is not None else '?':>3}  "
        for line in _positions(profile) or ["unpublished"]:
            yield f"{start}{line}"
            start = " " * len(start)


def _positions(profile: MigProfile) -> list[str]:
    """Returns lines with the possible positions of a profile. Positions that overlap are in different lines."""
    lines: list[str] = []
    for start in sorted(profile.starts):
        box = f"[{'=' * (_UNIT * profile.size - 2)}]"
        for number, line in enumerate(lines):
            if len(line) <= _UNIT * start:
                lines[number] = f"{line:<{_UNIT * start}}{box}"
                break
        else:
            lines.append(f"{'':<{_UNIT * start}}{box}")
    return lines
