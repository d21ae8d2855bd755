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
SHARING = "sharing: {timeSlicing: {replicas: 4}}"
"""A line of pool dev-l4 that other fields of the pool replace."""


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


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("old", "new", "rule", "message", "fix"),
    [
        ("nodes: {max: 16}", "nodes: {maxx: 16}", "SPC001", "pools.train-h100.nodes has no key maxx",
         "rename key maxx to max"),
        ("        egress:", "        egres:", "SPC001", "tenants.search.network has no key egres",
         "rename key egres to egress"),
        ('kubernetes: "1.35"', "kubernetes: 1.30", "SPC006", "the number 1.30", 'set kubernetes to "1.30"'),
        ("nodes: {max: 8}", 'nodes: {max: "8"}', "SPC003", 'is "8"; expected a whole number from 1 to 100000',
         "set pools.batch-a100.nodes.max to 8"),
        ("nodes: {max: 8}", "nodes: {max: 8.5}", "SPC003", "is 8.5; expected a whole number", ""),
        ("nodes: {max: 8}", "nodes: {max: 0}", "SPC004", "is 0; expected a whole number from 1 to 100000", ""),
        ("purchase: [reserved, on-demand]", "purchase: reserved", "SPC003",
         "expected a list of reserved, spot or on-demand",
         "set pools.train-h100.eks.purchase to [reserved]"),
        ("isolation: network", "isolation: netwrk", "SPC004", "namespace, network or dedicated",
         "set tenants.research.isolation to network"),
        ("longest: 72h", "longest: 3d", "SPC004", "expected hours, minutes and seconds as in 72h",
         "set pools.train-h100.runs.longest to 72h"),
        ("sharing: exclusive", "sharing: exclusiv", "SPC004", "or a map with mig, timeSlicing or mps",
         "set pools.train-h100.sharing to exclusive"),
        ('kubernetes: "1.35"', 'charts: {x: {repository: "oci://x.example/", chart: x, version: 1.0.0, namespace: x,'
         ' kinds: {cluster: [X]}}}\n  kubernetes: "1.35"', "SPC004",
         "without / at the end", "set charts.x.repository to oci://x.example"),
        ("why: feature store", 'why: "a\\nb"', "SPC004", 'why is "a\\nb"; expected the reason, a text on one line', ""),
        ("image: al2023@v20260815", "image: al2023", "SPC004", "a version, such as al2023@v20260815", ""),
        ("{cidr: 10.20.0.0/16,", "{", "SPC005", "write exactly one of cidr, cidrs and names", ""),
        ("cidr: 10.20.0.0/16,", "cidr: 10.20.0.0/16, names: [hf.co],", "SPC005", "exactly one of cidr, cidrs", ""),
        ("cidr: 10.20.0.0/16", "cidr: fd00::/8", "SPC004", "such as 10.0.0.0/16, because gpuc supports only IPv4", ""),
        ("cidr: 10.20.0.0/16", "cidr: 10.20.0.0", "SPC004", "such as 10.20.0.0/32 for one address", ""),
        ("cidr: 10.20.0.0/16", f"names: [hf.co], onlyPods: {{a: {'b' * 80}}}", "SPC004", "expected at most 63", ""),
        ("image: al2023@v20260815", f"userData: {'x' * 16_385}\n      image: al2023@v20260815", "SPC004",
         "userData has length 16385; expected at most 16384", ""),
        ("cidr: 10.20.0.0/16", 'names: ["*"]', "SPC004", '"*"; expected a host name such as', ""),
        ("cidr: 10.20.0.0/16", 'names: ["*.com"]', "SPC004", '"*.com"; expected a host name such as', ""),
        ("cidr: 10.20.0.0/16", "names: [10.20.0.1]", "SPC004", '"10.20.0.1"; expected a host name such as', ""),
        ("cidr: 10.20.0.0/16", "names: [https://hf.co]", "SPC004", "; expected a host name such as",
         "set tenants.search.network.egress[0].names[0] to hf.co"),
        ("{port: 6379, protocol: TCP}", "70000", "SPC004",
         "is 70000; expected a port number from 1 to 65535, or a map with port and protocol", ""),
        ("{port: 6379, protocol: TCP}", "https", "SPC004", 'is "https"; expected a port number such as 443', ""),
        ("{port: 6379, protocol: TCP}", '"443"', "SPC004", 'is "443"; expected a port number',
         "set tenants.search.network.egress[0].ports[0] to 443"),
        ("namespace: ingress-nginx,", "", "SPC005", "exactly one of namespace, cidrs, internet: true", ""),
        ("namespace: ingress-nginx,", "internet: true, gateway: true,", "SPC005", "exactly one of namespace", ""),
        ("namespace: ingress-nginx,", "internet: true, pods: {a: b},", "SPC005", "write namespace too", ""),
        ("namespace: ingress-nginx,", "namespace: ingress-nginx, healthChecks: [10.0.224.0/24],", "SPC005",
         "healthChecks are ranges beside internet: true", ""),
        ("namespace: ingress-nginx,", "namespace: ingress-nginx, pods: {a b: c},", "SPC004",
         'key "a b" of tenants.search.network.ingress[0].pods is not allowed', "rename the key to a-b"),
        ("namespace: ingress-nginx,", "namespace: ingress-nginx, onlyPods: {},", "SPC004", "onlyPods is empty", ""),
        ("nodes: {max: 10}", "nodes: {max: 10, static: 2}", "SPC005", "max and static exclude each other", ""),
        ("nodes: {max: 10}", "nodes: {min: 10, max: 10}", "SPC005",
         "min is 10; expected a min that is less than max (10); for a constant number of nodes, write only static", ""),
        ("nodes: {max: 10}", "nodes: {min: 1, static: 2}", "SPC005", "expected min without static", ""),
        (SHARING, "nodeLabels: {a b: c}", "SPC004",
         'key "a b" of pools.dev-l4.nodeLabels is not', "rename the key to a-b"),
        (SHARING, "nodeLabels: {a: b c}", "SPC004",
         'is "b c"; expected at most 63 letters', "set pools.dev-l4.nodeLabels.a to b-c"),
        (SHARING, "taints: [{key: a, value: b, effect: Never}]", "SPC004", "or NoExecute", ""),
        ("idleAfter: 10m", r'userData: "#!/bin/sh\r"', "SPC004", "the text has the character U+000D", ""),
        ("    aws:", "    aws:\n      instanceProfile: a", "SPC005", "nodeRole and instanceProfile exclude", ""),
        ("subnets: {tags:", "subnets: {ids: [subnet-0a1b2c3d], tags:", "SPC005", "tags and ids exclude each other", ""),
        ("subnets: {tags: {karpenter.sh/discovery: prod-use1}}", "subnets: {ids: [a]}", "SPC004",
         'is "a"; expected the id of a subnet such as subnet-0a1b2c3d4e5f6a7b8', ""),
        ("longest: 72h", "longest: 24", "SPC003", "is 24; expected a duration with its unit: 24h, 24m or 24s", ""),
        ("longest: 72h", 'longest: "24"', "SPC003", 'is "24"; expected a duration with its unit', ""),
        ("longest: 72h", "longest: 1.5", "SPC003", "is 1.5; expected a duration with its unit", ""),
        ("idleAfter: 10m", "idleAfter: 600", "SPC003", "is 600; expected a duration with its unit", ""),
        ("idleAfter: 10m", "rootVolume: 500", "SPC003", "is 500; expected a size with its unit",
         "set pools.dev-l4.eks.rootVolume to 500Gi"),
        ("idleAfter: 10m", 'rootVolume: "500"', "SPC003", 'is "500"; expected a size with its unit',
         "set pools.dev-l4.eks.rootVolume to 500Gi"),
        ("idleAfter: 10m", "rootVolume: 536870912000", "SPC003", "expected a size",
         "set pools.dev-l4.eks.rootVolume to 500Gi"),
        ("idleAfter: 10m", "rootVolume: 100000000", "SPC003", "expected a size", ""),
        ("{shares: 96}      #", "{shares: 96, nodes: 1} #", "SPC005", "write one of nodes, gpus", ""),
        ("borrow: 6,", "borrow: some,", "SPC004",
         "expected all, a whole number of at least 0, or a number for each MIG profile", ""),
        ("NCCL_CROSS_NIC:", "nccl_cross_nic:", "SPC004", "nccl_cross_nic", "rename the key to NCCL_CROSS_NIC"),
        ('kubernetes: "1.35"', "kubernetes: v1.34.2", "SPC004", "expected a minor version", 'set kubernetes to "1.34"'),
        ("region: us-east-1", "region: us-east-1a", "SPC004", "an AWS region such as",
         "set cloud.aws.region to us-east-1"),
        ("zones: [us-east-1b]", "zones: [use1-az1]", "SPC004", "the name of a zone such as us-east-1a, not its id", ""),
        ("    lab-h100:    ", "    Lab_H100:    ", "SPC004", "lower-case letters, digits",
         "rename the key to lab-h100"),
        ("{3g.40gb: 1, 2g.20gb", "{mig-3g.40gb: 1, 2g.20gb", "SPC004", "a MIG profile", "rename the key to 3g.40gb"),
        ("hours: 08:00", "hours: 8:00", "SPC004", "two times such as", "set workingHours.hours to 08:00-18:00"),
        ("ids: [cr-0a1b2c3d4e5f6a7b8]", "ids: [cr-0123]", "SPC004", "expected cr- and 8 to 17 hexadecimal digits", ""),
        ("instances: 12}", 'instances: 12, block: {ends: "2027-03-31T11:30:00+01:00"}}', "SPC004",
         "a time in UTC such as",
         "set pools.train-h100.eks.reservations.block.ends to \"2027-03-31T10:30:00Z\""),
        (SHARING, "labels: {owner: 4711}", "SPC006", "the number 4711",
         'set pools.dev-l4.labels.owner to "4711"'),
        (SHARING, "labels: {gpu: true}", "SPC003", "is true; expected a string in quotes",
         'set pools.dev-l4.labels.gpu to "true"'),
        (SHARING, "labels: {owner: ML team!}", "SPC004", 'is "ML team!"; expected at most 63 letters',
         "set pools.dev-l4.labels.owner to ML-team"),
        (SHARING, "labels: {owner: _}", "SPC004", "start and end with a letter or digit", ""),
        (SHARING, f"labels: {{owner: {64 * 'a'}}}", "SPC004", "expected at most 63 letters", ""),
        (SHARING, "labels: {cost centre: a}", "SPC004",
         'key "cost centre" of pools.dev-l4.labels is not allowed; expected', "rename the key to cost-centre"),
        (SHARING, "annotations: {Example.com/a: b}", "SPC004", "after an optional DNS name and /",
         "rename the key to example.com/a"),
        (SHARING, "annotations: {a/b/c: d}", "SPC004", "is not allowed", ""),
        (SHARING, 'annotations: {a: "\\e[2J"}', "SPC004", "without the control character U+001B", ""),
        (SHARING, f"annotations: {{a: {16384 * 'b'}}}", "SPC004",
         "is 16385 bytes; expected at most 16384 bytes", ""),
        ("idleAfter: 10m", "tags: {owner: a;b}", "SPC004", "expected at most 256 letters, digits, spaces and", ""),
        ("idleAfter: 10m", "tags: {'owner ': a}", "SPC004", "without a space at the start or end", ""),
        ("costCentre: CC-12345", "costCentre: CC 12345", "SPC004", "expected at most 63 letters",
         "set pools.lab-h100.eks.costCentre to CC-12345"),
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
    assert "server and name" in finding.message and "expected one of them" in finding.message
