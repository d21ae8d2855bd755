"""Recorded observations of transitions: a JSON file with the disturbances by edit."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from tests.conformance.transition_agreement import Observation
from tests.conformance.transition_report import Row


@dataclass(frozen=True)
class Record:
    """What an edit did to the control plane."""

    observations: tuple[Observation, ...]
    seconds: float


_RECORDS = TypeAdapter(dict[str, Record])


def record(file: Path, rows: Iterable[Row]) -> None:
    """Writes the observations of the edits that were made. Other edits keep their observations in the file."""
    found = recorded(file) if file.exists() else {}
    found |= {row.edit.name: Record(row.observations, row.seconds) for row in rows if row.observations is not None}
    file.write_bytes(_RECORDS.dump_json(dict(sorted(found.items())), indent=1))


def recorded(file: Path) -> dict[str, Record]:
    """Reads recorded observations by the name of the edit."""
    return _RECORDS.validate_json(file.read_bytes())
