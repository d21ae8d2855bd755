"""Fields at their old places: the warnings and errors, and the positions of the values at their new places."""

from pathlib import Path

import pytest

from gpuc.diagnostics.finding import Finding, Mark, Severity, StageError
from gpuc.source import read
from gpuc.source.moved import MOVES
from gpuc.spec.parse import parse
from gpuc.spec.reference import field_at
from tests.conftest import ROOT

FILE, LAYER_FILE = "specs/a.yaml", "specs/base.yaml"
HEAD = "apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nextends: [base.yaml]\nspec:\n"
LAYER = "apiVersion: gpuc.dev/v1alpha1\nkind: Layer\nspec:\n"
REFERENCE = (ROOT / "specs/prod-use1.yaml").read_text(encoding="utf-8")


def fleet(root: Path, spec: str, layer: str = "  environment: dev\n") -> Path:
    """Writes a cluster and its layer, and returns the root of the fleet."""
    (root / "specs").mkdir()
    (root / LAYER_FILE).write_text(LAYER + layer, encoding="utf-8")
    (root / FILE).write_text(HEAD + spec, encoding="utf-8")
    return root


def errors(root: Path) -> tuple[Finding, ...]:
    with pytest.raises(StageError) as stop:
        read(root, FILE)
    return stop.value.findings


@pytest.mark.parametrize(("old", "new"), MOVES.items(), ids=[".".join(old[1:]) for old in MOVES])
def test_each_new_place_is_a_field_and_no_old_place_is_one(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    assert field_at(new) == (new, len(new))
    assert field_at(old) is None


def test_one_warning_for_a_file_has_the_number_of_fields_and_the_fix(tmp_path: Path) -> None:
    pools = "  pools:\n    l4:\n      zones: [x]\n      image: w\n    a100: {zones: [z]}\n"
    layer = "  cloud: {aws: {networkPolicyEngine: cilium}}\n"
    remarks = read(fleet(tmp_path, pools, layer), FILE).remarks
    of_cluster, of_layer = sorted(remarks, key=lambda found: str(found.mark))
    assert (of_cluster.id, of_layer.id) == ("SPC008", "SPC008")
    assert of_cluster.severity == of_layer.severity == Severity.WARNING
    assert of_cluster.message == (
        "3 fields are at old places: pools.*.zones is now pools.*.eks.zones, pools.*.image is now pools.*.eks.image"
    )
    assert of_layer.message == (
        "1 field is at its old place: cloud.aws.networkPolicyEngine is now network.policyEngine"
    )
    assert (of_cluster.mark, of_cluster.fix) == (Mark(FILE, 8, 7), f"run gpuc fix {FILE}")
    assert (of_layer.mark, of_layer.fix) == (Mark(LAYER_FILE, 4, 17), f"run gpuc fix {LAYER_FILE}")


def test_a_value_at_both_places_is_an_error_with_both_lines(tmp_path: Path) -> None:
    pools = "  pools:\n    l4:\n      zones: [x]\n      eks:\n        zones: [w]\n"
    (found,) = errors(fleet(tmp_path, pools))
    assert (found.id, found.severity, found.mark) == ("SPC009", Severity.ERROR, Mark(FILE, 8, 7))
    assert found.message == "pools.l4.zones has moved to pools.l4.eks.zones, and the file has a value there"
    assert [(place.message, place.mark) for place in found.related] == [
        ("the value at pools.l4.eks.zones", Mark(FILE, 10, 9))
    ]


def test_another_name_at_the_new_place_is_still_the_same_field(tmp_path: Path) -> None:
    both = "  cloud: {aws: {networkPolicyEngine: cilium}}\n  network: {policyEngine: calico}\n"
    (found,) = errors(fleet(tmp_path, both))
    assert (found.id, found.mark) == ("SPC009", Mark(FILE, 6, 17))
    assert [place.mark for place in found.related] == [Mark(FILE, 7, 13)]


def test_a_new_place_below_a_value_that_is_no_map_is_taken(tmp_path: Path) -> None:
    (found,) = errors(fleet(tmp_path, "  pools:\n    l4: {zones: [x], eks: none}\n"))
    assert (found.id, found.mark) == ("SPC009", Mark(FILE, 7, 10))
    assert [place.mark for place in found.related] == [Mark(FILE, 7, 22)]


@pytest.mark.parametrize(
    ("layer", "cluster"),
    [
        ("{zones: [x]}", "{eks: {zones: [w]}}"),
        ("{eks: {zones: [x]}}", "{zones: [w]}"),
        ("{zones: [x]}", "{zones: [w]}"),
    ],
)
def test_a_cluster_replaces_the_value_of_a_layer_at_either_place(layer: str, cluster: str, tmp_path: Path) -> None:
    source = read(fleet(tmp_path, f"  pools: {{l4: {cluster}}}\n", f"  pools: {{l4: {layer}}}\n"), FILE)
    assert source.tree["spec"]["pools"] == {"l4": {"eks": {"zones": ["w"]}}}
    assert source.locate(("spec", "pools", "l4", "eks", "zones")).file == FILE


def test_null_at_the_old_place_removes_the_value_of_a_layer(tmp_path: Path) -> None:
    layer = "  pools: {l4: {purpose: training, eks: {zones: [x], image: w}}}\n"
    source = read(fleet(tmp_path, "  pools: {l4: {zones: null}}\n", layer), FILE)
    assert source.tree["spec"]["pools"] == {"l4": {"purpose": "training", "eks": {"image": "w"}}}


def test_a_pool_with_only_moved_fields_keeps_its_position(tmp_path: Path) -> None:
    source = read(fleet(tmp_path, "  pools:\n    l4:\n      zones: [x]\n    a100: {zones: [w]}\n"), FILE)
    assert list(source.tree["spec"]["pools"]) == ["l4", "a100"]
    assert source.locate(("spec", "pools", "l4"), on_key=True) == Mark(FILE, 7, 5)
    assert source.locate(("spec", "pools", "a100"), on_key=True) == Mark(FILE, 9, 5)
    assert source.locate(("spec", "pools", "l4", "eks"), on_key=True) == Mark(FILE, 8, 7)


def test_a_finding_about_a_moved_field_is_at_its_old_line(tmp_path: Path) -> None:
    eks = "        purchase: [spot, on-demand]\n        idleAfter: 10m\n        costCentre: CC-12345\n"
    assert f"      eks:\n{eks}" in REFERENCE
    old = eks.replace("        ", "      ").replace("10m", "600")
    text = REFERENCE.replace(f"      eks:\n{eks}", old)
    (tmp_path / "specs/base").mkdir(parents=True)
    (tmp_path / "specs/base/eks.yaml").write_text((ROOT / "specs/base/eks.yaml").read_text())
    (tmp_path / "specs/prod-use1.yaml").write_text(text)
    source = read(tmp_path, "specs/prod-use1.yaml")
    with pytest.raises(StageError) as stop:
        parse(source)
    (found,) = stop.value.findings
    mark = source.locate(found.path, found.on_key)
    assert found.path == ("spec", "pools", "dev-l4", "eks", "idleAfter")
    assert (mark.line, mark.column) == (text[: text.index("idleAfter: 600")].count("\n") + 1, 18)


def test_a_spec_at_old_places_is_the_same_cluster(tmp_path: Path) -> None:
    section = REFERENCE[REFERENCE.index("  network:\n    policyEngine") :].partition("\n\n")[0]
    lines = section.splitlines()[1:]
    assert len(lines) == 6
    old = "\n".join(f"  {line}" for line in lines).replace("policyEngine", "networkPolicyEngine")
    text = REFERENCE.replace(f"{section}\n", "").replace("    aws:\n", f"    aws:\n{old}\n")
    (tmp_path / "specs/base").mkdir(parents=True)
    (tmp_path / "specs/base/eks.yaml").write_text((ROOT / "specs/base/eks.yaml").read_text())
    (tmp_path / "specs/prod-use1.yaml").write_text(text)
    source = read(tmp_path, "specs/prod-use1.yaml")
    assert parse(source) == parse(read(ROOT, "specs/prod-use1.yaml"))
    (warning,) = source.remarks
    assert warning.message.startswith("6 fields are at old places: cloud.aws.networkPolicyEngine is now ")
