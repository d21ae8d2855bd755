"""The report of Argo CD in `make conformance-all`: runs, missing runs, and the fleet for the hub."""

from pathlib import Path

import pytest

from gpuc.pipeline.stages import compiled_spec
from gpuc_rehearsal.cli.argocd_command import groups
from tests.conformance import argocd
from tests.conformance.argocd import HUB, Record, Run, hub_fleet, markdown
from tests.conftest import compiled_example

RESULT = {
    "cluster": "prod-use1",
    "good": True,
    "first_sync_s": 275.04,
    "counts": {"applications": 14, "good": 14, "failures": 0},
}


def test_the_record_has_every_run_and_what_did_not_run() -> None:
    edits = {"prod-use1": {"edits": 20, "late": 0, "rows": [["a pool grows", "1 -> 2", "NodePool a", "3.5", "a | b"]]}}
    runs = [
        Run("prod-use1", (RESULT,), "## Argo CD applies prod-use1\n", edits=edits),
        Run("a hub", problem="no redis"),
    ]
    text = markdown(Record(runs, ["x: chart efa is missing"]))
    for part in (
        "| prod-use1 | prod-use1 | 14 | 14 | 275.0 | 20 | 0 | 0 |",
        "no redis",
        "- not run: x",
        "3.5 | a \\| b |",
    ):
        assert part in text
    assert not Record(runs).is_good
    assert Record(runs[:1]).is_good


def test_missing_programs_are_not_run_and_keep_the_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "argocd.md"
    record.write_text("the last run", encoding="utf-8")
    monkeypatch.setattr(argocd, "RECORD", record)
    monkeypatch.setattr(argocd, "_missing", lambda: "argocd is not built")
    assert argocd.main([]) == 0
    printed = capsys.readouterr().out
    assert "not run: " in printed and "argocd is not built" in printed
    assert record.read_text(encoding="utf-8") == "the last run"


@pytest.mark.slow
def test_the_fleet_of_a_hub_compiles_into_one_run_of_two_clusters(tmp_path: Path) -> None:
    assert hub_fleet(tmp_path) == ""
    (group,) = groups([compiled_spec(tmp_path, f"specs/{name}.yaml") for name in HUB])
    assert [spec.cluster.name for spec in group] == list(HUB)


def test_clusters_of_their_own_argo_cd_have_a_run_each() -> None:
    found = groups([compiled_example(name) for name in HUB])
    assert [len(group) for group in found] == [1, 1]
