"""Stored results never hide a change of a spec, of the output, of gpuc or of the set of clusters."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from gpuc.diagnostics.report.result import Report
from gpuc.pipeline import result_cache
from gpuc.pipeline.pipeline import check_specs, compile_specs
from gpuc.pipeline.result_cache import identity
from gpuc.pipeline.shard import Shard, shard_of
from tests.conftest import edit

IDENTITY = identity
INFER, TRAIN = "specs/infer-euw1.yaml", "specs/train-usw2.yaml"
MANIFEST = "specs/infer-euw1/manifests/platform.yaml"


@pytest.fixture
def fleet(fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet of two clusters, with a folder for results."""
    (fleet / "specs/prod-use1.yaml").unlink()
    monkeypatch.setattr("gpuc.pipeline.result_cache.identity", IDENTITY)
    monkeypatch.setattr("gpuc.pipeline.result_cache.FOLDER", str(tmp_path / "results"))
    return fleet


@pytest.fixture
def compiled_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The spec files that were compiled."""
    from gpuc.pipeline import pipeline

    files: list[str] = []
    compile_cluster = pipeline.compile_cluster

    def recorded(root: Path, file: str, *arguments: object) -> object:
        files.append(file)
        return compile_cluster(root, file, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "compile_cluster", recorded)
    return files


def compiled(root: Path, files: list[str] | None = None, shard: Shard = Shard()) -> Report:  # noqa: B008
    return compile_specs(root, files, root, lambda step: None, shard)


def checked(root: Path, files: list[str] | None = None, *, fresh: bool = False, shard: Shard = Shard()) -> Report:  # noqa: B008
    return check_specs(root, files, root, fresh, lambda step: None, shard)


def write_manifest(root: Path) -> None:
    (root / MANIFEST).parent.mkdir(parents=True)
    (root / MANIFEST).write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: monitoring}\ndata: {a: b}\n"
    )


def link_manifests(root: Path, folder: str) -> None:
    (root / folder).mkdir()
    (root / folder / "manifests").symlink_to(root / "specs/base")


@pytest.mark.slow
def test_the_same_again_compiles_nothing(fleet: Path, compiled_files: list[str]) -> None:
    first = compiled(fleet)
    assert first.findings == () and first.written and compiled_files == [INFER, TRAIN]
    again = compiled(fleet)
    assert compiled_files == [INFER, TRAIN]
    assert again.clusters == first.clusters
    assert again.unchanged == len(first.written) and again.written == ()
    assert checked(fleet).findings == checked(fleet, fresh=True).findings
    assert compiled_files == [INFER, TRAIN, INFER, TRAIN]
    assert compiled(fleet).written == () and compiled_files == [INFER, TRAIN, INFER, TRAIN]


@pytest.mark.share(12)
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda root: edit(root / INFER, ("nodes: {max: 6}", "nodes: {max: 7}")), [INFER]),
        (lambda root: edit(root / "specs/base/eks.yaml", ("revision: main", "revision: next")), [INFER, TRAIN]),
        (lambda root: (root / "out/infer-euw1/kueue/queues/retrieval.yaml").write_text("by hand\n"), [INFER]),
        (lambda root: (root / "out/infer-euw1/kueue/queues/retrieval.yaml").unlink(), [INFER]),
        (lambda root: (root / "out/.gpuc").mkdir(), [INFER, TRAIN]),
        (lambda root: (root / TRAIN).unlink(), []),
        (lambda root: (root / TRAIN).touch(), []),
        (write_manifest, [INFER]),
        (lambda root: (root / "specs/infer-euw1").symlink_to(root / "specs/base"), [INFER]),
        (lambda root: link_manifests(root, "specs/infer-euw1"), [INFER]),
        (lambda root: link_manifests(root, "specs/gone"), []),
    ],
    ids=[
        "spec",
        "layer",
        "edited output",
        "lost output",
        "interrupted",
        "lost spec",
        "touched",
        "manifest",
        "link",
        "linked manifests",
        "linked manifests of no cluster",
    ],
)
def test_only_what_changes_is_compiled(
    fleet: Path, compiled_files: list[str], change: Callable[[Path], object], expected: list[str]
) -> None:
    compiled(fleet)
    change(fleet)
    compiled_files.clear()
    found = compiled(fleet)
    assert compiled_files == expected
    assert checked(fleet, fresh=True).findings == found.findings
    assert ("out/train-usw2/gpuc.lock" in found.removed) == (not (fleet / TRAIN).exists())


@pytest.mark.slow
def test_a_lock_that_is_not_from_gpuc_is_reported_again(fleet: Path) -> None:
    compiled(fleet)
    (fleet / "out/infer-euw1/gpuc.lock").write_text("{}")
    assert [finding.id for _ in range(2) for finding in compiled(fleet).findings] == ["WRT003", "WRT003"]


@pytest.mark.slow
def test_results_are_good_for_another_checkout_and_for_check(fleet: Path, compiled_files: list[str]) -> None:
    compiled(fleet)
    other = fleet.with_name("clone")
    shutil.copytree(fleet, other, copy_function=shutil.copyfile)
    compiled_files.clear()
    assert compiled(other).written == () and checked(other, [TRAIN]).clusters == ("train-usw2",)
    assert compiled_files == []


@pytest.mark.slow
def test_a_check_of_one_cluster_reads_others_only_once(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = checked(fleet, [INFER])
    monkeypatch.setattr("gpuc.pipeline.other_clusters.claims_of", None)
    assert checked(fleet, [INFER]).findings == first.findings


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"{", b"\xff", b"[" * 100_000, b'{"key": "x", "layers": {}, "claims": []}'])
def test_a_damaged_or_foreign_entry_is_computed_again_with_a_note(
    fleet: Path, tmp_path: Path, compiled_files: list[str], damage: bytes
) -> None:
    before = checked(fleet)
    for entry in (tmp_path / "results").iterdir():
        entry.write_bytes(damage)
    compiled_files.clear()
    found = checked(fleet)
    assert found.findings == before.findings and compiled_files == [INFER, TRAIN]
    assert len(found.notes) >= 2 and all("again" in note for note in found.notes)
    assert checked(fleet).notes == ()


@pytest.mark.slow
def test_another_gpuc_computes_again(fleet: Path, compiled_files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    checked(fleet)
    monkeypatch.setattr("gpuc.pipeline.result_cache.identity", lambda: "another version or another catalog")
    checked(fleet)
    assert compiled_files == [INFER, TRAIN, INFER, TRAIN]


def test_the_identity_is_that_of_the_bytes_of_gpuc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "package").mkdir()
    file = tmp_path / "package/module.py"
    content = partial(result_cache._content, package=str(tmp_path / "package"), files=[str(file)])
    file.write_text("a = 1")
    first = content("stamp-1")
    assert content("stamp-2") == first
    file.write_text("a = 2")
    assert content("stamp-3") != first


@pytest.mark.slow
def test_a_claim_of_a_new_spec_is_compared_with_stored_results(fleet: Path, compiled_files: list[str]) -> None:
    checked(fleet)
    twin = fleet / "specs/twin.yaml"
    twin.write_text((fleet / TRAIN).read_text().replace("name: train-usw2", "name: twin"))
    found = checked(fleet)
    assert {finding.cluster for finding in found.findings if finding.is_error} == {"twin"}
    assert compiled_files == [INFER, TRAIN, "specs/twin.yaml"]
    assert {finding.cluster for finding in checked(fleet, [TRAIN]).findings} == {"train-usw2"}
    twin.unlink()
    assert checked(fleet, [TRAIN]).findings == ()


@pytest.mark.slow
def test_findings_are_repeated(fleet: Path, compiled_files: list[str]) -> None:
    accept = '  accept: {KUE008: "for later"}\n'
    edit(fleet / INFER, ("  kubernetes:", f"{accept}  kubernetes:"), ('"1.34"', '"1.33"'))
    first = compiled(fleet)
    assert [finding.id for finding in first.findings] == ["VER102", "ACC001"]
    assert first.findings[0].related
    compiled_files.clear()
    assert compiled(fleet).findings == first.findings and compiled_files == []


@pytest.mark.slow
def test_the_shards_together_do_what_the_whole_does(fleet: Path, tmp_path: Path) -> None:
    twin = (fleet / TRAIN).read_text().replace("name: train-usw2", "name: twin")
    (fleet / "specs/twin.yaml").write_text(twin)
    whole = checked(fleet)
    parts = [checked(fleet, shard=Shard(index, 2)) for index in (1, 2)]
    assert sorted(map(repr, whole.findings)) == sorted(repr(row) for part in parts for row in part.findings)
    (fleet / "specs/twin.yaml").unlink()
    gone = tmp_path / "out/gone"
    (gone / "kueue").mkdir(parents=True)
    for index in (1, 2):
        compiled(fleet, shard=Shard(index, 2))
    assert compiled(fleet).written == () == checked(fleet, fresh=True).findings


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "1.0/2", "a/b", "1/10000"])
def test_a_wrong_shard_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected I/N"):
        shard_of(text)


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_costs_only_time(
    fleet: Path, compiled_files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (fleet / "no-folder").write_text("")
    monkeypatch.setattr("gpuc.pipeline.result_cache.FOLDER", str(fleet / "no-folder/results"))
    assert compiled(fleet).findings == ()
    assert compiled(fleet).written == ()
    assert compiled_files == [INFER, TRAIN] * 2


@pytest.mark.slow
def test_a_warning_about_the_date_appears_without_a_change(
    fleet: Path, compiled_files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The capacity block of train-usw2 ends on 2027-01-31. The output is the same before and after."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1801353600")  # 2027-01-31
    assert compiled(fleet).findings == ()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1801440000")  # 2027-02-01
    compiled_files.clear()
    for _ in range(2):
        later = compiled(fleet)
        assert [finding.id for finding in later.findings] == ["KRP128"]
        assert later.written == () == later.removed
    assert compiled_files == [TRAIN]
