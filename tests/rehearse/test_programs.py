"""Missing programs are named, with the way to get them."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.rehearse.programs import DATA, NAMES, MissingProgramsError, find_programs


def test_an_empty_folder_lacks_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    with pytest.raises(MissingProgramsError, match=r"kueue.*`make tools`") as refusal:
        find_programs()
    assert all(name in str(refusal.value) for name in (*NAMES, *DATA))


def test_a_complete_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).touch(mode=0o755)
    for name in DATA:
        (tmp_path / "data" / name).mkdir(parents=True)
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    assert find_programs().path("etcd") == tmp_path / "bin" / "etcd"
