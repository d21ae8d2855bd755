"""The cache contains a complete cdk8s or none, with concurrent runs and damaged files."""

import subprocess
import sys
from pathlib import Path

import pytest

from gpuc.synth import cdk8s as unpack

PRINT = """
from gpuc.manifest.manifest import Manifest
from gpuc.manifest.output_file import output_files
from gpuc.synth.printer import Printer
with Printer.start() as printer:
    printer.send(output_files([Manifest("a.yaml", (), "v1", "X", "a", {})], "specs/a.yaml").values())
    print("kind: X" in printer.texts()["a.yaml"], printer._temporary)
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that three processes filled at once."""
    cache = tmp_path_factory.mktemp("cache")
    assert run_at_once(cache, 3) == ["True", "True", "True"]
    return cache


def run_at_once(cache: Path, count: int) -> list[str]:
    here = str(Path(unpack.__file__).parents[1])
    environment = {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": here, "PATH": "/bin:/usr/bin"}
    started = [
        subprocess.Popen([sys.executable, "-c", PRINT], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    return [process.communicate()[0].strip() for process in started]


def folder_of(cache: Path) -> Path:
    (folder,) = (cache / "gpuc").iterdir()
    return folder


@pytest.mark.slow
def test_processes_that_fill_it_at_once_leave_one_complete_folder(filled: Path) -> None:
    folder = folder_of(filled)
    assert folder.name.startswith(unpack.cdk8s_version() + "-")
    assert unpack.is_complete(str(folder))


@pytest.mark.share(3)
@pytest.mark.parametrize("damage", ["truncate", "remove", "unfinished"])
def test_a_damaged_folder_is_replaced(filled: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(filled))
    folder = folder_of(filled)
    victim = folder / ("files.txt" if damage == "unfinished" else "node_modules/cdk8s/lib/app.js")
    if damage == "truncate":
        victim.write_text("")
    else:
        victim.unlink()
    assert not unpack.is_complete(str(folder))
    assert unpack.modules() == (str(folder), False)
    assert unpack.is_complete(str(folder_of(filled)))


def test_a_cache_that_cannot_be_written_is_gone_around(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (answer,) = run_at_once(tmp_path / "file", 1)
    is_printed, _, temporary = answer.partition(" ")
    assert is_printed == "True"
    assert temporary
    assert not Path(temporary).exists()


def test_a_missing_package_is_named() -> None:
    with pytest.raises(unpack.PackageMissingError, match="no_such_package is not installed"):
        unpack.package_folder("no_such_package")
