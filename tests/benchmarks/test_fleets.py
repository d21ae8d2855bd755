"""The fleets that the benchmarks measure compile without errors, and each edit is new."""

from pathlib import Path

import pytest
import yaml

from benchmarks.fleets import cloning, copy_fleet, editing, editing_layer, enlarge, multiply
from benchmarks.programs import SIZES, large
from benchmarks.rounds import Measurements
from benchmarks.targets import growth, milliseconds
from gpuc.pipeline.stages import compiled_spec
from tests.conftest import ROOT


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """The production spec in a copy of the fleet."""
    return copy_fleet(ROOT, tmp_path / "fleet") / "specs/prod-use1.yaml"


def test_a_large_cluster_has_so_many_elements_and_no_errors(spec: Path) -> None:
    enlarge(spec, 6, 10, 5)
    text = spec.read_text(encoding="utf-8")
    sizes = {name: len(yaml.safe_load(text)["spec"][name]) for name in ("pools", "tenants", "queues")}
    assert sizes == {"pools": 6, "tenants": 10, "queues": 5}
    assert compiled_spec(spec.parents[1], "specs/prod-use1.yaml").objects
    editing(spec)()
    assert spec.read_text(encoding="utf-8") == text.replace("max: 20", "max: 21", 1)


def test_copies_share_layers_and_each_edit_is_new(spec: Path) -> None:
    multiply(spec, 3, share=2)
    specs = spec.parent
    assert sorted(file.name for file in specs.rglob("group-*")) == ["group-01.yaml", "group-02.yaml"]
    assert compiled_spec(specs.parent, "specs/prod-use1-03.yaml").source.files[1:] == (
        "specs/base/eks.yaml",
        "specs/base/group-02.yaml",
    )
    for file, edit in ((specs / "prod-use1-01.yaml", editing), (specs / "base/group-01.yaml", editing_layer)):
        edited = edit(file)
        texts = {file.read_text(encoding="utf-8")}
        for _ in range(3):
            edited()
            texts.add(file.read_text(encoding="utf-8"))
        assert len(texts) == 4


def test_each_clone_has_a_new_path_and_the_same_bytes(spec: Path, tmp_path: Path) -> None:
    link = tmp_path / "clone"
    clone, paths = cloning(spec.parents[1], link), set()
    for _ in range(2):
        clone()
        paths.add(link.resolve())
        assert (link / "specs/prod-use1.yaml").read_bytes() == spec.read_bytes()
    assert len(paths) == 2


def test_twice_the_time_for_twice_the_size_is_linear() -> None:
    names = [large(pools) for pools, *_ in SIZES]
    table = {name: Measurements([wall]) for name, wall in zip(names, (400, 500, 700), strict=True)}
    assert growth(table) == 1
    table["python floor"] = Measurements([100])
    target = milliseconds(table, names[0], 524)
    assert (target.value, target.limit, target.verdict) == ("524 ms", "<= 524 ms", "met")
