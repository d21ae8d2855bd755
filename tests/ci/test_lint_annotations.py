"""`gpuc lint --format github`: annotations whose paths begin at the top of the repository."""

import subprocess
from pathlib import Path

import pytest

from gpuc.cli.main import main

WRONG = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "A B"}\n'


@pytest.mark.parametrize(("folder", "prefix"), [("", ""), ("infra/fleet", "infra/fleet/")])
def test_an_annotation_has_the_path_in_the_repository(
    folder: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    root = tmp_path / folder
    (root / "manifests").mkdir(parents=True)
    (root / "manifests/a,b\n::error::x.yaml").write_text(WRONG)
    monkeypatch.chdir(root)
    assert main(["lint", "./manifests/a,b\n::error::x.yaml", "--format", "github"]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"::error file={prefix}manifests/a%2Cb%0A%3A%3Aerror%3A%3Ax.yaml,line=3,col=18,title=SCH006 ")
    assert out.count("\n") == 1
