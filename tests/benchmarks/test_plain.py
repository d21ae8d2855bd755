"""The plain cdk8s program prints the same objects as gpuc emits, so that comparing their times is fair."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.machine import node
from benchmarks.objects import Objects, differences, emit_objects, read_documents, write_objects
from benchmarks.programs import PLAIN_PROGRAM
from tests.conftest import EXAMPLES, ROOT


@pytest.fixture(scope="module")
def smallest() -> Objects:
    """The objects of the example that emits the fewest."""
    return min((emit_objects(ROOT, f"specs/{name}.yaml") for name in EXAMPLES), key=lambda made: len(made.all))


@pytest.fixture(scope="module")
def printed(smallest: Objects, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the plain program printed into; the test skips where cdk8s cannot start."""
    folder = tmp_path_factory.mktemp("plain")
    environment = {**os.environ, "JSII_NODE": node(), "HOME": str(folder), "TMPDIR": str(folder)}
    probe = [sys.executable, "-c", "import cdk8s; cdk8s.App()"]
    started = subprocess.run(probe, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if started.returncode:
        pytest.skip(f"cdk8s cannot start: {started.stderr.strip().splitlines()[-1:]}")
    write_objects(smallest, folder / "objects.json")
    command = [sys.executable, *map(str, (PLAIN_PROGRAM, folder / "objects.json", folder / "printed"))]
    subprocess.run(command, env=environment, check=True)
    return folder / "printed"


@pytest.mark.slow
def test_the_plain_program_prints_the_same_objects(smallest: Objects, printed: Path) -> None:
    files = sorted(printed.glob("*.yaml"))
    seen = [document for file in files for document in read_documents(file.read_text(encoding="utf-8"))]
    assert differences(smallest.all, seen) == []
    assert len(seen) == len(smallest.all)
    assert len(files) == len(smallest.by_file)


def test_a_lost_and_a_changed_object_are_told(smallest: Objects) -> None:
    lost, changed, *others = smallest.all
    told = differences(smallest.all, [{**changed, "kind": "Other"}, *others])
    assert [line.partition(" ")[0] for line in told] == ["-", "-", "+"]
    assert lost["metadata"]["name"] in told[0]
