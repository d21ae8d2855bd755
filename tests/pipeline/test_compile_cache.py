"""The compile cache never hides a change of a spec, of the output, or of the set of clusters."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gpuc.diagnostics.report.result import Report
from gpuc.pipeline.pipeline import compile_specs
from tests.conftest import edit


@pytest.fixture
def fleet(fleet: Path) -> Path:
    """A fleet of two clusters."""
    (fleet / "specs/prod-use1.yaml").unlink()
    return fleet


def compiled(root: Path) -> Report:
    return compile_specs(root, None, root, lambda step: None)


def remembers(root: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Returns whether the next compile runs no stage."""
    with monkeypatch.context() as patch:
        patch.setattr("gpuc.pipeline.pipeline.compile_cluster", None)
        try:
            return bool(compiled(root).clusters)
        except TypeError:
            return False


@pytest.mark.slow
def test_the_same_again_runs_no_stage(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not remembers(fleet, monkeypatch)
    first = compiled(fleet)
    assert first.findings == () and first.written
    assert remembers(fleet, monkeypatch)
    again = compiled(fleet)
    assert again.clusters == first.clusters
    assert again.unchanged == len(first.written) and again.written == ()


@pytest.mark.share(7)
@pytest.mark.parametrize(
    "change",
    [
        lambda root: edit(root / "specs/infer-euw1.yaml", ("nodes: {max: 6}", "nodes: {max: 7}")),
        lambda root: edit(root / "specs/base/eks.yaml", ("revision: main", "revision: next")),
        lambda root: (root / "out/infer-euw1/kueue/queues/retrieval.yaml").write_text("edited: by hand\n"),
        lambda root: (root / "out/infer-euw1/kueue/queues/retrieval.yaml").unlink(),
        lambda root: (root / "out/infer-euw1/gpuc.lock").write_text("{}"),
        lambda root: (root / "specs/train-usw2.yaml").unlink(),
        lambda root: (root / "out/.gpuc").mkdir(),
    ],
    ids=["spec", "layer", "output edited", "output gone", "index", "cluster gone", "interrupted"],
)
def test_whatever_changes_is_compiled(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    compiled(fleet)
    assert remembers(fleet, monkeypatch)
    change(fleet)
    assert not remembers(fleet, monkeypatch)


@pytest.mark.slow
def test_findings_are_repeated_from_the_cache(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accept = '  accept: {KUE008: "for later"}\n'
    edit(fleet / "specs/infer-euw1.yaml", ("  kubernetes:", f"{accept}  kubernetes:"), ('"1.34"', '"1.33"'))
    first = compiled(fleet)
    assert [finding.id for finding in first.findings] == ["VER102", "ACC001"]
    assert first.findings[0].related
    with monkeypatch.context() as patch:
        patch.setattr("gpuc.pipeline.pipeline.compile_cluster", None)
        assert compiled(fleet).findings == first.findings


@pytest.mark.slow
def test_an_old_output_is_recognised_after_a_checkout(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(fleet)
    for spec in (fleet / "specs").glob("*.yaml"):
        spec.touch()
    assert remembers(fleet, monkeypatch)


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_costs_only_time(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fleet / "no-folder").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(fleet / "no-folder"))
    assert compiled(fleet).findings == ()
    assert compiled(fleet).written == ()
    assert not remembers(fleet, monkeypatch)


@pytest.mark.slow
def test_a_warning_about_the_date_appears_without_a_change(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The capacity block of train-usw2 ends on 2027-01-31. The output is the same before and after."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1801353600")  # 2027-01-31
    assert compiled(fleet).findings == ()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1801440000")  # 2027-02-01
    for _ in range(2):
        later = compiled(fleet)
        assert [finding.id for finding in later.findings] == ["KRP128"]
        assert later.written == () == later.removed
