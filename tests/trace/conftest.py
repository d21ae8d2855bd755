"""`gpuc trace` with workloads of a file, as a user runs it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.cli.main import main

Report = Callable[..., tuple[int, str]]
"""The exit code and all output: `report(*documents, where=WHERE, options=WORDS)`; WHERE is a cluster, or objects."""
Traced = Callable[..., tuple[int, Any]]
"""The exit code and the first trace of the JSON report: `traced(*documents, where=WHERE)`."""


@pytest.fixture
def report(tmp_path: Path, capsys: pytest.CaptureFixture[str], in_the_fleet: None) -> Report:
    def run(*documents: Any, where: str | Sequence[Any] = "infer-euw1", options: str = "") -> tuple[int, str]:
        work, objects = tmp_path / "work.yaml", tmp_path / "objects.yaml"
        work.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
        if not isinstance(where, str):
            objects.write_text(yaml.safe_dump_all(where), encoding="utf-8")
        code = main(["trace", "-f", str(work), where if isinstance(where, str) else str(objects), *options.split()])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


@pytest.fixture
def traced(report: Report) -> Traced:
    def run(*documents: Any, where: str | Sequence[Any] = "infer-euw1") -> tuple[int, Any]:
        code, output = report(*documents, where=where, options="--format json")
        return code, json.JSONDecoder().raw_decode(output)[0]["traces"][0]

    return run
