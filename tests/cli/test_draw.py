"""`gpuc draw`: the picture shows every pool, every GPU of a node with its slices, and all quota."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gpuc.cli.main import main
from gpuc.model import Cluster
from gpuc.pipeline.stages import compiled_spec
from tests.conftest import CUSTOM, HUB, ROOT

MACHINES = ROOT / "examples/machines"
SPECS = [path for root in (ROOT, CUSTOM, HUB, MACHINES) for path in sorted((root / "specs").glob("*.yaml"))]
SVG = "{http://www.w3.org/2000/svg}"


def drawn(spec: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["draw", str(spec)]) == 0
    return capsys.readouterr().out


@pytest.mark.share(4)
@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_the_picture_has_all_pools_and_queues_inside_of_its_frame(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(spec.parent.parent)
    svg = ET.fromstring(drawn(spec, capsys))
    cluster = compiled(spec)
    texts = [found.text or "" for found in svg.iter(f"{SVG}text")]
    assert {pool.name for pool in cluster.pools} <= set(texts)
    assert {f"queue {queue.name}" for queue in cluster.queues} <= set(texts)
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    for box in svg.iter(f"{SVG}rect"):
        x, y, wide, high = (float(box.attrib[key]) for key in ("x", "y", "width", "height"))
        assert x >= 0 and y >= 0 and x + wide <= width and y + high <= height


def compiled(spec: Path) -> Cluster:
    return compiled_spec(spec.parent.parent, f"specs/{spec.name}").cluster


def test_each_slice_of_a_node_is_a_box(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    svg = ET.fromstring(drawn(ROOT / "specs/prod-use1.yaml", capsys))
    titles = [found.text for found in svg.iter(f"{SVG}title")]
    # serve-a100 has 8 GPUs with one 3g.40gb; of lab-h100, two GPUs have two.
    assert titles.count("3g.40gb") == 8 + 2 * 2
    assert titles.count("1g.10gb") == 8 * 2 + 4 * 7
    assert "queue research: 10 nodes" in titles and "queue search: 6 nodes" in titles
    assert titles.count("namespace embeddings: 96 GPU shares") == 1


def test_the_picture_in_the_readme_is_that_of_the_spec(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    committed = (ROOT / "docs/prod-use1.svg").read_text("utf-8")
    assert drawn(ROOT / "specs/prod-use1.yaml", capsys) == committed, "run `make generate`"


def test_a_spec_with_errors_has_no_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/a.yaml").write_text("apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["draw"]) == 1
    printed = capsys.readouterr().out
    assert "SPC002" in printed and "<svg" not in printed
