"""The commands of the last chapter of docs/first-minutes.md print what the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs/first-minutes.md"
INIT = (
    "gpuc init . --name lab-euc1 --region eu-central-1 --requirement ./wheels/gpuc-0.1.0-py3-none-any.whl && "
    "gpuc compile && sed -i 's/g6.12xlarge/g6e.12xlarge/; s/max: 4/max: 8/' specs/lab-euc1.yaml && gpuc compile"
)
"""The commands of the chapters before, without Git."""


def commands(text: str) -> list[tuple[str, str]]:
    """Returns the commands of the blocks `console` with their output. A command ends before its output, or at END."""
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    found = [entry for block in blocks for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [re.fullmatch(r"((?:[^\n]*<<'END'\n.*?^END|[^\n]*)\n)(.*)", entry, re.M | re.S).groups() for entry in found]


@pytest.mark.slow
def test_the_training_job_gets_from_the_template_to_its_nodes(tmp_path: Path) -> None:
    def run(command: str) -> str:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        merged = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
            "env": os.environ | {"PATH": path},
        }
        return subprocess.run(["bash", "-c", command], cwd=tmp_path, check=False, **merged).stdout

    run(INIT)
    chapter = PAGE.read_text("utf-8").partition("## The first training job")[2].partition("\n## ")[0]
    shown = commands(chapter)
    assert len(shown) == 6
    for command, output in shown:
        assert run(command).rstrip("\n") == output.rstrip("\n"), command
