"""The report of the long conformance tests."""

from pathlib import Path
from types import ModuleType

import pytest

from tests.conformance import gang_command, gpu_gates, leader_worker_set, long, node_configs, node_features
from tests.conformance.long import Result, markdown


def test_a_test_that_cannot_run_keeps_its_last_row() -> None:
    first = markdown("", [Result("gang", 0, 480, "2 checks passed, 0 failed")], "2026-11-22")
    assert "| 2026-11-22 | passed | 8 | 2 checks passed, 0 failed |" in first
    results = [Result("conformance", 1, 60, "41 checks passed, 1 failed"), Result("gang", 0, 0, "not run: no PyTorch")]
    second = markdown(first, results, "2026-11-23").splitlines()
    assert [line.split(" | ")[0] for line in second if line.startswith("| ")] == [
        "| test", "| ---", "| conformance", "| gang",
    ]  # fmt: skip
    assert "| 2026-11-23 | failed | 1 |" in second[-2]
    assert second[-1] == first.splitlines()[-1]


@pytest.mark.parametrize(
    ("code", "last_line", "expected"), [(0, "not run: no PyTorch", 0), (1, "1 checks passed, 1 failed", 1)]
)
def test_only_a_failure_fails(
    code: int, last_line: str, expected: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(long, "RECORD", tmp_path / "conformance.md")
    monkeypatch.setattr(long, "_run", lambda name: Result(name, code, 1, last_line))
    assert long.main(["gang"]) == expected
    assert long.RECORD.exists() == (code == 1)


@pytest.mark.parametrize("test", [gang_command, leader_worker_set, node_configs, node_features, gpu_gates])
def test_without_their_programs_tests_are_not_run(
    test: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.delenv("GPUC_TORCH_PYTHON", raising=False)
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    assert test.main([]) == 0
    assert capsys.readouterr().out.startswith(long.NOT_RUN)


def test_the_pools_with_user_data_have_node_configs() -> None:
    assert {name for name, _ in node_configs.node_configs()} >= {"prod-use1 train-h100", "prod-use1 batch-a100"}
