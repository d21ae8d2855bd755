"""Errors about missing programs name them and how to build them."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from gpuc_rehearsal.programs import DATA, NAMES, MissingProgramsError, find_controller, find_programs
from gpuc_rehearsal.tools.selection import OTHERS, REHEARSAL


def test_an_empty_folder_misses_all_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    with pytest.raises(MissingProgramsError, match=r"kueue.*`gpuc tools`") as refusal:
        find_programs()
    assert all(name in str(refusal.value) for name in (*NAMES, *DATA))


def complete(folder: Path, names: Iterable[str], data: Iterable[str]) -> None:
    for name in names:
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "bin" / name).touch(mode=0o755)
    for name in data:
        (folder / "data" / name).mkdir(parents=True)


def test_a_complete_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete(tmp_path, NAMES, DATA)
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    assert find_programs().path("etcd") == tmp_path / "bin" / "etcd"


@pytest.mark.parametrize("name", ["lws", "jobset", "kuberay", "trainer"])
def test_controllers_of_workloads_have_their_own_folders(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    data = [f"{name}-crds", *([f"{name}-webhooks.yaml"] if name != "kuberay" else [])]
    with pytest.raises(MissingProgramsError, match=f"`gpuc tools --{name}`") as refusal:
        find_controller(name, "Jobs")
    assert all(part in str(refusal.value) for part in (name, *data))
    complete(tmp_path / name, [name], data)
    assert find_controller(name, "Jobs").path(name) == tmp_path / name / "bin" / name


def test_each_selection_has_its_own_folder_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUC_TOOLS", raising=False)
    assert REHEARSAL.home().parent.name == "tools"
    assert [selection.home().parent.name for selection in OTHERS.values()] == list(OTHERS)
