"""The nodes of a rehearsal are those that the NodeFeatureRules describe, and no provider starts or ends them."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuc.cli.main import main
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.model.names import ALLOCATABLE, POOL_LABEL
from gpuc_rehearsal.autoscaler import pool_kind
from gpuc_rehearsal.crds import Definitions, definitions
from gpuc_rehearsal.plane.kueue import NODE_REPLACEMENT
from gpuc_rehearsal.plane.kwok import node_stages
from gpuc_rehearsal.programs import DATA, NAMES, MissingProgramsError, Programs, find_programs
from gpuc_rehearsal.substitute import not_tested, replacement_objects, settings, substitutions
from gpuc_rehearsal.substrates.on_premises import NODES
from gpuc_rehearsal.transition.outcomes import node_outcomes
from gpuc_rehearsal.transition.snapshot import Snapshot
from tests.conftest import MACHINES, compiled_example

SPEC = compiled_example("lab-dc1")
RULES = {manifest.name: manifest for manifest in SPEC.synced if manifest.kind == "NodeFeatureRule"}
NO_DEFINITIONS = Definitions((), ())
Object = dict[str, Any]


def nodes() -> dict[str, Object]:
    return {node["metadata"]["name"]: node for node in replacement_objects(SPEC.cluster)}


def test_nodes_have_the_labels_and_taints_of_their_rule() -> None:
    rules = [manifest.body["spec"]["rules"][0] for manifest in RULES.values()]
    expected = {
        name: (rule["labels"], rule["taints"])
        for rule in rules
        for name in rule["matchFeatures"][0]["matchExpressions"]["nodename"]["value"]
    }
    assert nodes().keys() == expected.keys()
    for name, (labels, taints) in expected.items():
        metadata = nodes()[name]["metadata"]
        assert labels.items() <= metadata["labels"].items()
        assert metadata["labels"]["kubernetes.io/hostname"] == name
        assert INSTANCE_TYPE not in metadata["labels"]
        assert nodes()[name]["spec"]["taints"] == taints


def test_nodes_get_the_declared_number_of_pods() -> None:
    for stage in node_stages(SPEC.cluster):
        labels = stage["spec"]["selector"].get("matchLabels", {})
        assert INSTANCE_TYPE not in labels
        if POOL_LABEL in labels:
            declared = json.loads(RULES[labels[POOL_LABEL]].annotations[ALLOCATABLE])
            assert stage["spec"]["next"]["statusTemplate"].count(f'  pods: "{declared["pods"]}"') == 2


def test_the_control_plane_has_no_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = settings(SPEC, NO_DEFINITIONS)
    assert (wanted.instance_types, wanted.feature_gates) == ((), {})
    gates = (wanted.kueue_configuration or {}).get("featureGates", {})
    assert not set(NODE_REPLACEMENT) & gates.keys()
    of_eks = settings(compiled_example("infer-euw1"), NO_DEFINITIONS).kueue_configuration or {}
    assert all(of_eks["featureGates"][name] is False for name in NODE_REPLACEMENT)
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    with pytest.raises(MissingProgramsError) as refusal:
        find_programs({"on_premises"})
    missing = str(refusal.value)
    assert {name for name in (*NAMES, *DATA) if name not in missing} == {
        "karpenter-kwok",
        "karpenter-kwok-crds",
        "karpenter-crds",
    }


def test_only_the_definitions_of_the_substrate_are_installed(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "karpenter-crds"
    folder.mkdir(parents=True)
    text = "kind: CustomResourceDefinition\nmetadata:\n  name: nodepools.karpenter.sh\n"
    (folder / "a.yaml").write_text(text)

    def names(substrate: str) -> set[str]:
        found = definitions(Programs(tmp_path), None, ["batch/job"], [substrate])
        structural = {row["metadata"]["name"] for row in found.crds if isinstance(row, dict)}
        return structural | {"nodepools.karpenter.sh" for row in found.crds if row == text.encode()}

    assert not [name for name in names("on_premises") if "karpenter" in name]
    assert "nodepools.karpenter.sh" in names("eks")
    assert "nodefeaturerules.nfd.k8s-sigs.io" in names("on_premises")


def test_sentences_name_no_provider() -> None:
    sentences = [*substitutions(SPEC, NO_DEFINITIONS), *not_tested(SPEC.cluster)]
    assert any("node feature discovery does not run" in sentence for sentence in sentences)
    words = ("AWS", "EC2", "Karpenter", "Startup taints", "hostname label")
    assert not [sentence for sentence in sentences if any(word in sentence for word in words)]
    assert pool_kind(SPEC.cluster) == NODES.pool == (RULES["train-h100"].api, "NodeFeatureRule")


class RunningNodes:
    """The part of a client that changes nodes, with rules that differ from those of the example."""

    def __init__(self, rules: list[Object], present: list[Object]) -> None:
        self.rules, self.present = rules, present
        self.patches: dict[str, Object] = {}
        self.created: list[str] = []

    def list_all(self, api: str, kind: str) -> list[Object]:
        return self.rules if kind == "NodeFeatureRule" else self.present

    def patch_object(self, document: Object, changes: Object) -> None:
        self.patches[document["metadata"]["name"]] = changes

    def create(self, document: Object) -> None:
        self.created.append(document["metadata"]["name"])


def test_nodes_follow_changed_rules() -> None:
    rules = [rule.document() for name, rule in RULES.items() if name != "prepare"]
    client = RunningNodes(rules, [node for name, node in nodes().items() if name != "gpu-a04"])
    NODES.follow(client, SPEC.cluster)  # type: ignore[arg-type]
    assert client.created == ["gpu-a04"]
    left = client.patches["cpu-c01"]
    assert left["metadata"]["labels"][POOL_LABEL] is None
    assert left["spec"]["taints"] == []
    stays = client.patches["gpu-a01"]
    assert stays["metadata"]["labels"][POOL_LABEL] == "train-h100"
    assert stays["spec"]["taints"] == nodes()["gpu-a01"]["spec"]["taints"]


def test_of_two_rules_for_a_node_the_later_name_wins() -> None:
    later = {**RULES["train-h100"].document(), "metadata": {"name": "zz"}}
    later["spec"] = {"rules": [{**later["spec"]["rules"][0], "labels": {POOL_LABEL: "zz"}, "taints": []}]}
    client = RunningNodes([later, *(rule.document() for rule in RULES.values())], list(nodes().values()))
    NODES.follow(client, SPEC.cluster)  # type: ignore[arg-type]
    assert client.patches["gpu-a01"]["metadata"]["labels"][POOL_LABEL] == "zz"
    assert client.patches["gpu-a01"]["spec"]["taints"] == nodes()["gpu-a01"]["spec"]["taints"]


def test_all_nodes_stay_during_a_change() -> None:
    before = Snapshot({"Node": tuple(nodes().values())})
    outcomes = {row.name: (row.pool, row.outcome) for row in node_outcomes(before, {}, before, {"train-h100"})}
    assert outcomes.keys() == nodes().keys()
    assert outcomes["gpu-a01"] == ("train-h100", "kept")


def test_argo_cd_needs_nodes_that_start_and_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(MACHINES)
    assert main(["rehearse", "--argocd", "lab-dc1"]) == 2
    assert "--argocd rehearses nodes that start and end" in capsys.readouterr().err
