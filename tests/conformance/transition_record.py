"""Recorded observations of transitions: a JSON file with the disturbances by edit."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tests.conformance.transition_agreement import Observation
from tests.conformance.transition_report import Row


def record(file: Path, rows: Iterable[Row]) -> None:
    """Writes the observations of the edits that were made. Other edits keep their observations in the file."""
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    found |= {row.edit.name: [asdict(one) for one in row.observations] for row in rows if row.observations is not None}
    file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def recorded(file: Path) -> dict[str, list[Observation]]:
    """Reads recorded observations by the name of the edit."""
    found = json.loads(file.read_text(encoding="utf-8"))
    return {
        name: [Observation(**{**row, "subjects": tuple(row["subjects"])}) for row in rows]
        for name, rows in found.items()
    }
