"""B1: the values of a user's chart show that no node takes its pods."""

import shutil
from pathlib import Path

import pytest

from gpuc.pipeline.pipeline import check_specs
from gpuc.pipeline.stages import compiled_spec
from tests.conftest import CUSTOM

SPEC = "specs/custom-euc1.yaml"
TOLERATIONS = "[{key: CriticalAddonsOnly, operator: Exists}]"
SETTINGS = f"""\
        tolerations: {TOLERATIONS}
        webhook: {{tolerations: {TOLERATIONS}}}
        cainjector: {{tolerations: {TOLERATIONS}}}
"""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the specs and policies of examples/custom."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for folder in ("specs", "policies"):
        shutil.copytree(CUSTOM / folder, tmp_path / folder)
    return tmp_path


def found(root: Path, settings: str, kinds: str = "apps/Deployment") -> list[str]:
    """Id and text of the line of each finding about a chart, with other settings of the pods in its values."""
    spec = root / SPEC
    text = spec.read_text()
    assert text.count(SETTINGS) == 1
    spec.write_text(text.replace(SETTINGS, settings).replace("          - apps/Deployment\n", f"          - {kinds}\n"))
    outcome = check_specs(root, None, root, False, lambda step: None)
    assert outcome.failures == ()
    lines = spec.read_text().splitlines()
    charts = [finding for finding in outcome.findings if finding.id.startswith("CHT")]
    assert [finding.message for finding in outcome.findings if finding not in charts] == []
    return [f"{finding.id} {lines[finding.mark.line - 1].strip()}" for finding in charts if finding.mark]


def test_b1_a_chart_without_tolerations_has_no_node(fleet: Path) -> None:
    assert found(fleet, "") == ["CHT006 values:"]


def test_b1_nodes_take_the_chart_of_the_example(fleet: Path) -> None:
    assert found(fleet, SETTINGS) == []
    assert "Other pods of the charts are not judged" in (CUSTOM / "clusters/custom-euc1/README.md").read_text()


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("tolerations: []", "CHT006 controller: {tolerations: []}"),
        ("tolerations: [{key: CriticalAddonsOnly, operator: Equal, value: other}]", "CHT006"),
        ("tolerations: [{key: CriticalAddonsOnly, operator: Exists, effect: NoExecute}]", "CHT006"),
        ("tolerations: [{operator: Exists}]", ""),
        ("defaultTolerations: [{operator: Exists}]", ""),
        ("tolerations: [{key: nvidia.com/gpu, operator: Exists}, {key: gpuc.dev/mode, operator: Exists}]", ""),
        ("tolerations: [{key: nvidia.com/gpu, operator: Exists}]", "CHT006"),
        ("tolerations: '{{ .Values.other }}'", ""),
        ("tolerations: [{key: '{{ .Values.key }}', operator: Exists}]", ""),
        ("webhook: {enabled: false, tolerations: []}", "CHT006 values:"),
        ("labels: {kueue.x-k8s.io/queue-name: vision}", ""),
        (f"tolerations: {TOLERATIONS}, nodeSelector: {{gpuc.dev/pool: h100}}", "CHT007"),
        (f"tolerations: {TOLERATIONS}, nodeSelector: {{gpuc.dev/pool: l4}}", "CHT006"),
        ("tolerations: [{operator: Exists}], nodeSelector: {nvidia.com/gpu.present: 'true'}", ""),
        (f"tolerations: {TOLERATIONS}, webhook: {{nodeSelector: {{karpenter.sh/nodepool: l5}}}}", "CHT007"),
        (f"tolerations: {TOLERATIONS}, webhook: {{nodeSelector: {{karpenter.sh/nodepool: l4}}}}", ""),
        (f"tolerations: {TOLERATIONS}, nodeSelector: {{disk: fast}}", ""),
        (
            f"tolerations: {TOLERATIONS}, affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: "
            "{nodeSelectorTerms: [{matchExpressions: [{key: gpuc.dev/mode, operator: In, values: [mig]}]}]}}}",
            "CHT007",
        ),
    ],
)
def test_b1_the_line_of_a_value_that_leaves_pods_without_a_node(fleet: Path, settings: str, expected: str) -> None:
    lines = found(fleet, f"        controller: {{{settings}}}\n")
    assert bool(lines) == bool(expected) and all(line.startswith(expected) for line in lines), lines


def test_b1_a_chart_without_pods_needs_no_node(fleet: Path) -> None:
    assert found(fleet, "", kinds="rbac.authorization.k8s.io/ClusterRole") == []
    cluster = compiled_spec(fleet, SPEC).cluster
    assert "apps/Deployment" not in cluster.spec.charts["cert-manager"].kinds.namespaced


def test_b1_a_finding_about_a_chart_can_be_accepted(fleet: Path) -> None:
    assert found(fleet, "      accept: {CHT006: the defaults of the chart tolerate the taint}\n") == []
