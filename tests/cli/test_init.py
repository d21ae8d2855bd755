"""The fleet repository that gpuc init writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc import __version__
from gpuc.cli.init import TEMPLATE, template_files
from gpuc.cli.main import main


def _files(directory: Path) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())


def test_a_new_fleet_is_the_template_and_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "fleet")]) == 0
    assert _files(tmp_path / "fleet") == sorted([*template_files(), "gpuc.schema.json"])
    assert "gpuc compile" in capsys.readouterr().out
    main(["schema"])
    assert (tmp_path / "fleet" / "gpuc.schema.json").read_text("utf-8") == capsys.readouterr().out


def test_existing_files_are_named_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / ".gitignore").symlink_to("nowhere")
    assert main(["init", str(tmp_path)]) == 2
    assert "already contains .gitignore, README.md" in capsys.readouterr().err
    assert _files(tmp_path) == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "mine"


def test_a_fleet_pins_the_gpuc_that_wrote_it() -> None:
    assert (TEMPLATE / "requirements.txt").read_text() == f"gpuc=={__version__}\n"


def test_the_specs_of_a_fleet_name_its_schema() -> None:
    for file in template_files():
        if not file.startswith("specs/"):
            continue
        first = (TEMPLATE / file).read_text().splitlines()[0]
        schema = (TEMPLATE / file).parent / first.removeprefix("# yaml-language-server: $schema=")
        assert schema.resolve() == (TEMPLATE / "gpuc.schema.json").resolve()


def test_a_new_fleet_compiles_and_is_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "."]) == 0
    assert main(["compile", "--strict"]) == 0
    assert main(["check", "--fresh", "--strict"]) == 0
