"""`gpuc isolation` over specs and over files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compiler.lint.isolation_command import run_isolation
from compiler.usage import UsageError
from tests.conftest import EXAMPLES, ROOT
from tests.verify.isolation.cases import DENY, namespace, policy

OPEN_IN = "{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}], ports: [{port: 80}]}]}"
OPEN_OUT = "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {}}]}]}"


def written(folder: Path, text: str) -> str:
    file = folder / "tree.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_the_examples_are_proven(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert run_isolation(["--format", "json"]) == 0
    proofs = json.loads(capsys.readouterr().out)["proofs"]
    assert {proof["name"] for proof in proofs} == set(EXAMPLES)
    for proof in proofs:
        assert proof["holds"]
        assert {pair["state"] for pair in proof["pairs"]} == {"blocked"}
        assert len(proof["pairs"]) == len(proof["tenants"]) * (len(proof["tenants"]) - 1)
        assert {each["basis"] for each in proof["assumptions"]} == {"checked", "declared", "assumed"}


def test_a_committed_tree_is_proven(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_isolation([str(ROOT / "out/prod-use1")]) == 0
    told = capsys.readouterr().out
    assert "6 ordered pairs: 6 blocked" in told
    assert "assumed   NetworkPolicies are enforced" in told


def test_an_open_pair_names_rules_and_ports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        namespace("blue", "b") + namespace("red", "r") + policy("red", OPEN_IN, "in") + policy("blue", OPEN_OUT, "out")
    )
    file = written(tmp_path, text + policy("blue", DENY, "deny"))
    assert run_isolation([file]) == 1
    told = capsys.readouterr().out
    assert "OPEN b -> r: TCP 80" in told
    assert f"out  NetworkPolicy blue/out, {file}: spec.egress[0].to[0]" in told
    assert f"in   NetworkPolicy red/in, {file}: spec.ingress[0].from[0]" in told
    assert run_isolation([file, "--format", "json"]) == 1
    pairs = json.loads(capsys.readouterr().out)["proofs"][0]["pairs"]
    assert [(pair["from"], pair["to"], pair["state"]) for pair in pairs] == [("b", "r", "open"), ("r", "b", "blocked")]
    assert pairs[0]["ways"][0]["ingress"] == {"policy": "red/in", "file": file, "path": "spec.ingress[0].from[0]"}


def test_a_proof_that_rests_on_something_false_does_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    binding = """---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: devs, namespace: red}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}]
"""
    closed = namespace("blue", "b") + namespace("red", "r") + policy("red", DENY) + policy("blue", DENY)
    assert run_isolation([written(tmp_path, closed)]) == 0
    assert run_isolation([written(tmp_path, closed + binding)]) == 1
    assert "BROKEN    no tenant changes NetworkPolicies" in capsys.readouterr().out.replace("broken", "BROKEN")


def test_tenants_by_another_label_and_by_namespace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spaces = (namespace("blue", "x") + namespace("red", "x") + namespace("kube-system", "x")).replace(
        "gpuc.dev/tenant", "team"
    )
    file = written(tmp_path, spaces + policy("red", DENY))
    assert run_isolation([file]) == 0
    assert "2 tenants (each namespace taken for one)" in capsys.readouterr().out
    assert run_isolation([file, "--tenant-label", "team"]) == 0
    assert "1 tenants (by label team)" in capsys.readouterr().out
    with pytest.raises(UsageError, match=r"no Namespace in .* has the label crew"):
        run_isolation([file, "--tenant-label", "crew"])


def test_many_tenants_fit_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(namespace(f"team-{number}", f"t{number}") + policy(f"team-{number}", DENY) for number in range(30))
    assert run_isolation([written(tmp_path, text)]) == 0
    told = capsys.readouterr().out
    assert "870 ordered pairs: 870 blocked" in told
    assert max(map(len, told.splitlines())) < 160


def test_help_names_the_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_isolation(["--help"]) == 0
    assert "--tenant-label" in capsys.readouterr().out
