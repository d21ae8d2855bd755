"""Completion of command lines: the words that gpuc answers, and the scripts in the real shells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuc.cli.commands import COMMANDS, declared
from gpuc.cli.completion import FILES, FOLDERS, complete
from gpuc.cli.parser import Parser
from tests.tables import table

TABLE = table(__file__, "cases.yaml")
COMPILER = Path(__file__).parents[2] / "compiler"


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for file, kind in (("prod-use1.yaml", "Cluster"), ("dev-use1.yaml", "Cluster"), ("base/eks.yaml", "Layer")):
        path = tmp_path / "specs" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"apiVersion: gpuc.dev/v1alpha1\nkind: {kind}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("line", "expected"), TABLE["completed"].items())
@pytest.mark.usefixtures("fleet")
def test_the_words_that_fit(line: str, expected: dict[str, Any]) -> None:
    completion = complete(line.split(" "))
    paths = {"FILES": FILES, "FOLDERS": FOLDERS, "": ""}[expected.get("paths", "")]
    assert (list(completion.words), completion.paths) == (expected.get("words", []), paths)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_every_command_is_completed(name: str) -> None:
    options = {action.option_strings[-1] for action in Parser(declared(name)).arguments if action.option_strings}
    completed = complete([name, "--"]).words
    assert set(completed) == options
    assert all(completed.values()), "each option has a description"


@pytest.mark.parametrize("line", ["", "check ", "init --", "trace --", "catalog --", "schema ", "check --format "])
@pytest.mark.usefixtures("fleet")
def test_completion_loads_no_spec(line: str) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(COMPILER)!r}); from gpuc.cli.main import main;"
        f"main(['completion', 'bash', '--', *{line.split(' ')!r}]);"
        "heavy = {'pydantic', 'ruamel', 'yaml', 'jsonschema_rs', 'gpuc.pipeline.pipeline', 'gpuc.spec'};"
        "print(*sorted(heavy & sys.modules.keys()), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stderr == "\n"
    assert ran.stdout


BASH = """
eval "$(gpuc completion bash)"
COMP_WORDS=(gpuc {words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_gpuc gpuc
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
zmodload zsh/zpty
zpty shell 'PS1= zsh -f -i'
zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u -D; eval "$(gpuc completion zsh)"; print REA""DY'
zpty -r shell output '*READY*'
zpty -w -n shell '{line}'$'\\t'
zpty -r -m shell output '*{expected}*' && print -r -- "$output"
zpty -d shell
"""
FISH = """
gpuc completion fish | source
complete -C '{line}'
"""


def in_shell(shell: str, script: str, fleet: Path) -> str:
    """Runs a script in a shell, with this gpuc as the program `gpuc`, and returns the output."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program = fleet / "bin" / "gpuc"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\nPYTHONPATH='{COMPILER}' exec '{sys.executable}' -m gpuc.cli.main \"$@\"\n",
    )
    program.chmod(0o755)
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(fleet), "TERM": "dumb"}
    ran = subprocess.run([shell, *options, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert not ran.stderr
    return ran.stdout


@pytest.mark.parametrize(("words", "expected"), TABLE["bash"].items())
def test_bash(fleet: Path, words: str, expected: list[str]) -> None:
    assert in_shell("bash", BASH.format(words=words), fleet).splitlines() == expected


@pytest.mark.parametrize(("line", "expected"), TABLE["zsh"].items())
def test_zsh(fleet: Path, line: str, expected: str) -> None:
    assert expected in in_shell("zsh", ZSH.format(line=line, expected=expected), fleet).replace("\r", "")


@pytest.mark.parametrize(("line", "expected"), TABLE["fish"].items())
def test_fish(fleet: Path, line: str, expected: list[str]) -> None:
    lines = in_shell("fish", FISH.format(line=line), fleet).splitlines()
    assert [line.split("\t")[0] for line in lines] == expected
