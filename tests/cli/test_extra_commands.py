"""Commands of the package gpuc-rehearsal: gpuc finds them by their entry points, and works without them."""

import re
from importlib import metadata
from typing import Any

import pytest

from gpuc import __version__
from gpuc.cli.commands import COMMANDS
from gpuc.cli.completion import complete
from gpuc.cli.main import main
from tests.conftest import ROOT
from tests.versions import places

EXTRA = [name for name, command in COMMANDS.items() if command.extra]
INSTALL = "pip install 'gpuc[rehearse]'"


class Entry:
    """An entry point of a distribution with another version, whose module cannot be imported."""

    class dist:  # noqa: N801
        name, version = "gpuc-rehearsal", "9.9"

    def load(self) -> Any:
        raise AssertionError("a package with another version must not be imported")


@pytest.mark.parametrize("name", EXTRA)
@pytest.mark.parametrize("words", [[], ["--help"], ["lab-dc1"]])
def test_without_the_package_one_sentence_says_what_to_install(
    name: str, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda **_: ())
    assert main([name, *words]) == 2
    assert capsys.readouterr() == ("", f"gpuc: {name} needs a package that is not installed: {INSTALL}\n")
    assert main(["help", name]) == 2
    assert complete([name, ""]).words == {}
    capsys.readouterr()
    assert main(["--help"]) == 0
    assert f"\n  {name} " in capsys.readouterr().out


def test_a_package_with_another_version_is_not_imported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda **_: (Entry(),))
    assert main(["rehearse"]) == 2
    versions = f"the version of gpuc is {__version__}, and gpuc-rehearsal is 9.9; both must have the same version"
    assert capsys.readouterr() == ("", f"gpuc: {versions}: {INSTALL}\n")


def test_all_places_name_the_same_version() -> None:
    assert set(places().values()) == {__version__}


def test_gpuc_never_names_the_package_in_code() -> None:
    imports = re.compile(r"(import|from|import_module\(f?[\"']|find_spec\(f?[\"'])\s*gpuc_rehearsal")
    files = (ROOT / "compiler/gpuc").rglob("*.py")
    assert [file for file in files if imports.search(file.read_text("utf-8"))] == []


def test_both_packages_have_the_same_licence() -> None:
    assert (ROOT / "rehearsal/LICENSE").read_text("utf-8") == (ROOT / "LICENSE").read_text("utf-8")
