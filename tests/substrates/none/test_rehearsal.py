"""The nodes of a rehearsal are those that the NodeFeatureRules describe."""

from __future__ import annotations

import pytest

from gpuc.cli.main import main
from gpuc.pipeline.stages import compiled_spec
from gpuc.rehearse.substitute import replacement_objects
from tests.conftest import MACHINES

SPEC = "specs/lab-dc1.yaml"


def test_nodes_have_the_labels_and_taints_of_their_rule() -> None:
    spec = compiled_spec(MACHINES, SPEC)
    rules = [manifest.body["spec"]["rules"][0] for manifest in spec.synced if manifest.kind == "NodeFeatureRule"]
    expected = {
        name: (rule["labels"], rule["taints"])
        for rule in rules
        for name in rule["matchFeatures"][0]["matchExpressions"]["nodename"]["value"]
    }
    nodes = {node["metadata"]["name"]: node for node in replacement_objects(spec.cluster)}
    assert nodes.keys() == expected.keys()
    for name, (labels, taints) in expected.items():
        assert labels.items() <= nodes[name]["metadata"]["labels"].items()
        assert nodes[name]["metadata"]["labels"]["kubernetes.io/hostname"] == name
        assert nodes[name]["spec"]["taints"] == taints


@pytest.mark.parametrize("option", [["--argocd"], ["--from", "HEAD"]])
def test_rehearsals_of_nodes_that_come_and_go_are_refused(
    option: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(MACHINES)
    assert main(["rehearse", *option, "lab-dc1"]) == 2
    assert f"{option[0]} rehearses nodes that start and end" in capsys.readouterr().err
