"""Parsing reports each wrong key, type and value at its line, with the actual value, the expected value and a fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc.diagnostics.finding import Finding, StageError
from gpuc.source import read
from gpuc.spec.parse import parse
from tests.conftest import ROOT

TEXT = (ROOT / "specs/prod-use1.yaml").read_text(encoding="utf-8")
LAYER = (ROOT / "specs/base/eks.yaml").read_text(encoding="utf-8")


def findings(root: Path, *edits: tuple[str, str]) -> list[Finding]:
    """The findings of the reference spec with edits, located in its files."""
    text = TEXT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    (root / "specs/base").mkdir(parents=True)
    (root / "specs/base/eks.yaml").write_text(LAYER, encoding="utf-8")
    (root / "specs/prod-use1.yaml").write_text(text, encoding="utf-8")
    source = read(root, "specs/prod-use1.yaml")
    with pytest.raises(StageError) as stop:
        parse(source)
    return [finding.__class__(**{**as_dict(finding), "mark": source.locate(finding.path, finding.on_key)})
            for finding in stop.value.findings]  # fmt: skip


def as_dict(finding: Finding) -> dict[str, object]:
    return {name: getattr(finding, name) for name in Finding.__slots__}


def line_of(text: str) -> int:
    """The number of the first line of the reference spec that contains a text."""
    return TEXT[: TEXT.index(text)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "rule", "message", "fix"),
    [
        ("nodes: {max: 16}", "nodes: {maxx: 16}", "SPC001", "pools.train-h100.nodes has no key maxx",
         "rename key maxx to max"),
        ("        egress:", "        egres:", "SPC001", "tenants.search.network has no key egres",
         "rename key egres to egress"),
        ('kubernetes: "1.35"', "kubernetes: 1.30", "SPC006", "the number 1.30", 'set kubernetes to "1.30"'),
        ("nodes: {max: 8}", 'nodes: {max: "8"}', "SPC003", 'is "8"; expected a whole number', ""),
        ("nodes: {max: 8}", "nodes: {max: 8.5}", "SPC003", "is 8.5; expected a whole number", ""),
        ("nodes: {max: 8}", "nodes: {max: 0}", "SPC004", "greater than equal 1", ""),
        ("purchase: [reserved, on-demand]", "purchase: reserved", "SPC003", "expected a list", ""),
        ("isolation: network", "isolation: netwrk", "SPC004", "namespace, network or dedicated",
         "set tenants.research.isolation to network"),
        ("longest: 72h", "longest: 3d", "SPC004", "is not a duration", ""),
        ("sharing: exclusive", "sharing: exclusiv", "SPC004", "or a map with mig, timeSlicing, mps",
         "set pools.train-h100.sharing to exclusive"),
        ("image: al2023@v20260815", "image: al2023", "SPC004", "does not match", ""),
        ("{cidr: 10.20.0.0/16,", "{", "SPC002", "cidr is missing", ""),
        ("nodes: {max: 10}", "nodes: {max: 10, static: 2}", "SPC005", "write either max or static", ""),
        ("longest: 72h", "longest: 24", "SPC003", "is 24; expected a duration with its unit: 24h, 24m or 24s", ""),
        ("longest: 72h", 'longest: "24"', "SPC003", 'is "24"; expected a duration with its unit', ""),
        ("longest: 72h", "longest: 1.5", "SPC003", "is 1.5; expected a duration with its unit", ""),
        ("idleAfter: 10m", "idleAfter: 600", "SPC003", "is 600; expected a duration with its unit", ""),
        ("idleAfter: 10m", "rootVolume: 500", "SPC003", "is 500; expected a size with its unit",
         "set pools.dev-l4.rootVolume to 500Gi"),
        ("idleAfter: 10m", 'rootVolume: "500"', "SPC003", 'is "500"; expected a size with its unit',
         "set pools.dev-l4.rootVolume to 500Gi"),
        ("idleAfter: 10m", "rootVolume: 536870912000", "SPC003", "expected a size",
         "set pools.dev-l4.rootVolume to 500Gi"),
        ("idleAfter: 10m", "rootVolume: 100000000", "SPC003", "expected a size", ""),
        ("{shares: 96}      #", "{shares: 96, nodes: 1} #", "SPC005", "write one of nodes, gpus", ""),
        ("borrow: 6,", "borrow: some,", "SPC004", "expected all or a whole number or a map", ""),
        ("NCCL_CROSS_NIC:", "nccl_cross_nic:", "SPC004", "nccl_cross_nic", ""),
    ],
)  # fmt: skip
def test_a_wrong_key_or_value_is_reported_at_its_line(
    tmp_path: Path, old: str, new: str, rule: str, message: str, fix: str
) -> None:
    found = findings(tmp_path, (old, new))
    assert {finding.id for finding in found} == {rule}
    assert message in found[0].message
    assert found[0].fix == fix
    assert found[0].mark is not None
    assert found[0].mark.file == "specs/prod-use1.yaml"
    assert found[0].mark.line == line_of(old.strip())


def test_all_findings_are_reported_together(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        ("nodes: {max: 16}", "nodes: {maxx: 16}"),
        ("isolation: network", "isolation: none"),
        ("weight: 2", "weight: two"),
    )  # fmt: skip
    assert {finding.id for finding in found} >= {"SPC001", "SPC003", "SPC004"}
    assert len({finding.mark for finding in found}) == len(found)


def test_a_finding_in_a_layer_points_at_the_layer(tmp_path: Path) -> None:
    (tmp_path / "specs/base").mkdir(parents=True)
    (tmp_path / "specs/base/eks.yaml").write_text(LAYER.replace("prune: confirm", "prune: always"), encoding="utf-8")
    (tmp_path / "specs/prod-use1.yaml").write_text(TEXT, encoding="utf-8")
    source = read(tmp_path, "specs/prod-use1.yaml")
    with pytest.raises(StageError) as stop:
        parse(source)
    (finding,) = stop.value.findings
    mark = source.locate(finding.path)
    assert mark.file == "specs/base/eks.yaml"
    assert LAYER.splitlines()[mark.line - 1][mark.column - 1 :].startswith("confirm")


@pytest.mark.parametrize("where", ["server: https://kubernetes.default.svc, name: hub, ", ""])
def test_a_destination_is_exactly_one_cluster(where: str, tmp_path: Path) -> None:
    text = LAYER.replace("server: https://kubernetes.default.svc, ", where)
    (tmp_path / "specs/base").mkdir(parents=True)
    (tmp_path / "specs/base/eks.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "specs/prod-use1.yaml").write_text(TEXT, encoding="utf-8")
    source = read(tmp_path, "specs/prod-use1.yaml")
    with pytest.raises(StageError) as stop:
        parse(source)
    (finding,) = stop.value.findings
    mark = source.locate(finding.path, finding.on_key)
    assert (finding.id, mark.file) == ("SPC005", "specs/base/eks.yaml")
    assert text.splitlines()[mark.line - 1][mark.column - 1 :].startswith("destination:")
    assert "either server or name" in finding.message
