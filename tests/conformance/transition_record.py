"""Recorded observations of transitions: a JSON file with the disturbances by edit."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.conformance.transition_agreement import Observation
from tests.conformance.transition_report import Row


@dataclass(frozen=True)
class Record:
    """What an edit did to the control plane."""

    observations: tuple[Observation, ...]
    seconds: float


def record(file: Path, rows: Iterable[Row]) -> None:
    """Writes the observations of the edits that were made. Other edits keep their observations in the file."""
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for row in rows:
        if row.observations is not None:
            found[row.edit.name] = asdict(Record(row.observations, row.seconds))
    file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def recorded(file: Path) -> dict[str, Record]:
    """Reads recorded observations by the name of the edit."""
    found = json.loads(file.read_text(encoding="utf-8"))
    return {
        name: Record(
            tuple(
                Observation(**{**observation, "subjects": tuple(observation["subjects"])})
                for observation in entry["observations"]
            ),
            entry["seconds"],
        )
        for name, entry in found.items()
    }
