"""Small inputs from public bug reports (cases/bugs3 of the reference data), and what gpuc says about each.

In bug_reports.yaml an input has the commands whose answer it needs, run in its folder: the ids of the findings of
`gpuc lint` and `gpuc check` and of the impacts of `gpuc diff`, and the verdict of `gpuc trace`. The empty list means
no alarm. An input whose right answer gpuc does not give has the reason.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuc.cli.main import main
from tests.tables import table

EXPECTED: dict[str, dict[str, Any]] = table(__file__, "bug_reports.yaml")
FOLDER = "cases/bugs3"


def test_each_input_has_a_row(shared: Path) -> None:
    assert sorted(folder.name for folder in (shared / FOLDER).iterdir() if folder.is_dir()) == sorted(EXPECTED)


@pytest.mark.parametrize(
    ("name", "command"),
    [(name, command) for name, row in EXPECTED.items() for command in row if command.startswith("gpuc ")],
)
def test_gpuc_gives_the_right_answer(
    name: str, command: str, shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shared / FOLDER / name)
    main([*command.split()[1:], "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert _answer(found) == EXPECTED[name][command], found


def _answer(found: Any) -> Any:
    """Returns the verdict of a trace, or the sorted ids of the findings or impacts."""
    if "traces" in found:
        (trace,) = found["traces"]
        return trace["verdict"]
    return sorted(row["id"] for row in found["impacts" if "impacts" in found else "findings"])
