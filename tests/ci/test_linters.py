"""actionlint and zizmor report nothing about the workflows of this repository and of a new fleet."""

import os
import re
from pathlib import Path

import pytest

from tests.ci.linters import BIN, actionlint, problems, write_fleet
from tests.conftest import ROOT

WORKFLOWS = [*ROOT.glob(".github/**/*.y*ml"), *ROOT.glob("compiler/gpuc/cli/template/common/.github/**/*.y*ml")]


@pytest.fixture(scope="module")
def program() -> Path | None:
    """actionlint, and None without Go. zizmor must be installed."""
    if not (BIN / "zizmor").exists():
        pytest.skip("zizmor is not installed: pip install '.[check]'")
    return actionlint()


@pytest.mark.slow
def test_the_workflows_of_this_repository(program: Path | None) -> None:
    assert list(problems(ROOT, program=program)) == []


@pytest.mark.slow
def test_the_workflows_of_a_new_fleet(program: Path | None, tmp_path: Path) -> None:
    write_fleet(tmp_path)
    assert list(problems(tmp_path, program=program)) == []


@pytest.mark.slow
def test_a_mistake_is_found_by_both(program: Path | None, tmp_path: Path) -> None:
    write_fleet(tmp_path)
    file = tmp_path / ".github/workflows/gpuc.yaml"
    text = file.read_text("utf-8").replace('gpuc rehearse "$CLUSTER" --from', "gpuc rehearse ${{ github.head_ref }} $x")
    file.write_text(re.sub(r"checkout@[0-9a-f]{40}", "checkout@v7", text), encoding="utf-8")
    found = list(problems(tmp_path, program=program))
    assert "unpinned-uses" in found[0] and "template-injection" in found[0]
    if program is None:
        assert not os.environ.get("CI"), "CI has Go"
    else:
        assert "head_ref" in found[1]


def test_every_action_is_pinned_to_the_same_commit_everywhere() -> None:
    used: dict[str, set[str]] = {}
    for file in WORKFLOWS:
        for line in file.read_text("utf-8").splitlines():
            if match := re.search(r"uses: ([^.\s]\S*)(.*)", line):
                pin = re.fullmatch(r"(actions/[a-z-]+)(?:/\w+)?@([0-9a-f]{40})", match[1])
                assert pin is not None and re.fullmatch(r" # v\d+\.\d+\.\d+", match[2]), f"{file}: {line}"
                used.setdefault(pin[1], set()).add(pin[2] + match[2])
    assert len(used) == 6
    assert {name: pins for name, pins in used.items() if len(pins) > 1} == {}


def test_no_script_contains_an_expression() -> None:
    import yaml

    def steps(value: object) -> list[dict[str, str]]:
        if isinstance(value, dict):
            own = [value] if "run" in value and isinstance(value["run"], str) else []
            return [*own, *(step for child in value.values() for step in steps(child))]
        return [step for child in value for step in steps(child)] if isinstance(value, list) else []

    scripts = [step["run"] for file in WORKFLOWS for step in steps(yaml.safe_load(file.read_text("utf-8")))]
    assert len(scripts) > 10
    assert [script for script in scripts if "${{" in script] == []
