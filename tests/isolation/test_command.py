"""`gpuc isolation` with specs and with manifest files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuc.catalog import load
from gpuc.cli.main import run_command
from gpuc.diagnostics.usage import UsageError
from gpuc.isolation.assumptions import Basis, datapath_assumptions
from gpuc.isolation.proof import Reachability
from gpuc.isolation.tenancy import labelled_tenancy
from tests.conftest import EXAMPLES, HUB, ROOT
from tests.isolation.cases import DENY, namespace, policy, tree

OPEN_IN = "{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}], ports: [{port: 80}]}]}"
OPEN_OUT = "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {}}]}]}"


def written(folder: Path, text: str) -> str:
    file = folder / "tree.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_the_examples_are_proven(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert run_command(["isolation", "--format", "json"]) == 0
    proofs = json.loads(capsys.readouterr().out)["proofs"]
    assert {proof["name"] for proof in proofs} == set(EXAMPLES)
    for proof in proofs:
        assert proof["holds"]
        assert {pair["state"] for pair in proof["pairs"]} == {"blocked"}
        assert len(proof["pairs"]) == len(proof["tenants"]) * (len(proof["tenants"]) - 1)
        assert {assumption["basis"] for assumption in proof["assumptions"]} == {"checked", "declared", "assumed"}


def test_c3_the_report_lists_the_facts_about_the_engine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert run_command(["isolation", "prod-use1"]) == 0
    output = capsys.readouterr().out
    assert "Facts about the engine vpc-cni" in output
    assert "Service kubernetes has no selector" in output
    assert "source: aws/amazon-network-policy-controller-k8s v1.1.7 pkg/resolvers/endpoints.go" in output
    assert "checked   no tenant can write Endpoints or EndpointSlices" in output
    assert run_command(["isolation", "train-usw2", "--format", "json"]) == 0
    proof = json.loads(capsys.readouterr().out)["proofs"][0]
    assert proof["engine"] == "cilium"
    assert len(proof["facts"]) == len(load().datapaths["cilium"])


@pytest.mark.slow
def test_the_report_lists_public_addresses_names_and_gateways(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HUB)
    assert run_command(["isolation", "vega-prod"]) == 0
    output = capsys.readouterr().out
    for line in (
        "api from gateways of Cilium: TCP 8000 (api-serving)",
        "api from the internet: TCP 8443 (api-serving)",
        "finance to **.hf.co, huggingface.co: TCP 443 (finance-notebooks)",
        "nlp to the internet: TCP 443 (nlp-lab, nlp-train)",
        "gpuc does not know the addresses of **.hf.co, huggingface.co",
        "rules allow connections from gateways to tenant api",
        "connections to the internet from tenant nlp, and from the internet to tenant api",
    ):
        assert line in output
    assert run_command(["isolation", "vega-prod", "--format", "json"]) == 0
    (proof,) = json.loads(capsys.readouterr().out)["proofs"]
    assert {"tenant": "nlp", "direction": "egress", "peers": ["the internet"], "ports": "TCP 443",
            "namespaces": ["nlp-lab", "nlp-train"]} in proof["public"]  # fmt: skip


@pytest.mark.slow
def test_s4_the_report_names_the_ranges_from_which_health_checks_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HUB)
    assert run_command(["isolation", "vega-prod"]) == 0
    output = capsys.readouterr().out
    claim = "only load balancers have addresses in 10.40.32.0/24, 10.40.33.0/24, from which their health checks come"
    assert f"declared  {claim}" in output
    assert "its health checks always come from its own addresses" in output, "a fact about the engine"
    world = "{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10]}}"
    rules = f"{{podSelector: {{}}, ingress: [{{from: [{world}, {{ipBlock: {{cidr: 10.9.0.0/24}}}}]}}]}}"
    file = written(tmp_path, namespace("red", "r") + namespace("blue", "b") + policy("red", rules))
    assert run_command(["isolation", file]) == 1, "nothing isolates blue"
    output = capsys.readouterr().out
    assert "assumed   only load balancers have addresses in 10.9.0.0/24" in output, "no spec declares it"
    assert "the address ranges in rules contain no pods\n" in output, "load balancers may be in a range of ingress"


def test_private_ranges_are_not_public(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    private = "[{ipBlock: {cidr: 10.0.0.0/8}}, {ipBlock: {cidr: 0.0.0.0/0, except: [0.0.0.0/1, 128.0.0.0/2]}}]"
    text = namespace("red", "red") + policy("red", f"{{podSelector: {{}}, egress: [{{to: {private}}}]}}")
    run_command(["isolation", written(tmp_path, text)])
    assert "red to 192.0.0.0/2: all ports (red)" in capsys.readouterr().out
    private = "[{ipBlock: {cidr: 10.0.0.0/8}}, {ipBlock: {cidr: 192.168.0.0/16}}]"
    text = namespace("red", "red") + policy("red", f"{{podSelector: {{}}, egress: [{{to: {private}}}]}}")
    run_command(["isolation", written(tmp_path, text)])
    assert "Public addresses" not in capsys.readouterr().out


def test_c3_a_tenant_that_can_write_endpoints_breaks_the_proof() -> None:
    role = """---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: slices, namespace: red}
rules: [{apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: devs, namespace: red}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: slices}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}]
"""
    objects = tree(namespace("red", "r") + role)
    reachability = Reachability((), labelled_tenancy(objects))
    (broken,) = datapath_assumptions(objects, reachability, load().datapaths["vpc-cni"])
    assert broken.basis is Basis.BROKEN
    assert not list(datapath_assumptions(objects, reachability, load().datapaths["cilium"]))


def test_a_committed_tree_is_proven(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["isolation", str(ROOT / "out/prod-use1")]) == 0
    output = capsys.readouterr().out
    assert "6 ordered pairs: 6 blocked" in output
    assert "assumed   NetworkPolicies are enforced" in output


def test_an_open_pair_names_rules_and_ports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        namespace("blue", "b") + namespace("red", "r") + policy("red", OPEN_IN, "in") + policy("blue", OPEN_OUT, "out")
    )
    file = written(tmp_path, text + policy("blue", DENY, "deny"))
    assert run_command(["isolation", file]) == 1
    output = capsys.readouterr().out
    assert "OPEN b -> r: TCP 80" in output
    lines = (tmp_path / "tree.yaml").read_text(encoding="utf-8").splitlines()
    inward, outward = (next(n for n, line in enumerate(lines, 1) if word in line) for word in (OPEN_IN, OPEN_OUT))
    assert f"egress   NetworkPolicy blue/out, spec.egress[0].to[0], {file}:{outward}:" in output
    assert f"ingress  NetworkPolicy red/in, spec.ingress[0].from[0], {file}:{inward}:" in output
    assert output.endswith("The proof does not hold; open pairs: 1 of 2.\n")
    assert run_command(["isolation", file, "--format", "json"]) == 1
    pairs = json.loads(capsys.readouterr().out)["proofs"][0]["pairs"]
    assert [(pair["from"], pair["to"], pair["state"]) for pair in pairs] == [("b", "r", "open"), ("r", "b", "blocked")]
    assert pairs[0]["ways"][0]["ingress"] == {
        "policy": "red/in",
        "file": file,
        "line": inward,
        "path": "spec.ingress[0].from[0]",
    }


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
    assert run_command(["isolation", written(tmp_path, closed)]) == 0
    assert run_command(["isolation", written(tmp_path, closed + binding)]) == 1
    assert "broken    no tenant can change NetworkPolicies" in capsys.readouterr().out


def test_tenants_by_another_label_and_by_namespace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spaces = (namespace("blue", "x") + namespace("red", "x") + namespace("kube-system", "x")).replace(
        "gpuc.dev/tenant", "team"
    )
    file = written(tmp_path, spaces + policy("red", DENY))
    assert run_command(["isolation", file]) == 0
    assert "2 tenants (every namespace is a tenant)" in capsys.readouterr().out
    assert run_command(["isolation", file, "--tenant-label", "team"]) == 0
    assert "1 tenants (by label team)" in capsys.readouterr().out
    with pytest.raises(UsageError, match=r"no Namespace in .* has the label crew"):
        run_command(["isolation", file, "--tenant-label", "crew"])


def test_many_tenants_fit_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(namespace(f"team-{number}", f"t{number}") + policy(f"team-{number}", DENY) for number in range(30))
    assert run_command(["isolation", written(tmp_path, text)]) == 0
    output = capsys.readouterr().out
    assert "870 ordered pairs: 870 blocked" in output
    assert max(map(len, output.splitlines())) < 160


MISTAKES = {
    "a namespaceSelector that selects all": (
        "{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}",
        "from[0]",
    ),
    "two peers where one with both selectors was meant": (
        "{podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: api}}}, "
        "{namespaceSelector: {matchLabels: {gpuc.dev/tenant: b}}}], ports: [{port: 5432}]}]}",
        "from[1]",
    ),
    "a rule without any peer": ("{podSelector: {}, ingress: [{ports: [{port: 80}]}]}", "ingress[0]"),
    "a range that takes in every pod": (
        "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}}]}]}",
        "from[0]",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_usual_mistakes_are_named_by_their_rules(
    mistake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, rule = MISTAKES[mistake]
    closed = namespace("blue", "b") + namespace("red", "r") + policy("red", DENY, "deny") + policy("blue", DENY, "deny")
    out = policy("blue", "{podSelector: {}, policyTypes: [Egress], egress: [{}]}", "out")
    assert run_command(["isolation", written(tmp_path, closed + out)]) == 0
    capsys.readouterr()
    assert run_command(["isolation", written(tmp_path, closed + out + policy("red", spec, "mistake"))]) == 1
    output = capsys.readouterr().out
    (line,) = (line for line in output.splitlines() if line.strip().startswith("ingress "))
    assert "NetworkPolicy red/mistake" in line
    assert rule in line


def test_policies_that_forget_a_direction_or_stand_elsewhere_leave_it_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spaces = namespace("blue", "b") + namespace("red", "r")
    no_egress = policy("blue", "{podSelector: {}, ingress: []}")
    elsewhere = policy("default", DENY)
    assert run_command(["isolation", written(tmp_path, spaces + no_egress + elsewhere)]) == 1
    output = capsys.readouterr().out
    assert "OPEN b -> r: all ports" in output
    assert "namespace blue has no egress policy" in output
    assert "namespace red has no ingress policy" in output
    assert "r         blocked   -" in output, "no pod of red gets into blue"


def test_a_range_is_judged_by_where_pods_have_their_addresses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = "{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{from: [PEER]}], egress: [{to: [PEER]}]}"
    both = both.replace("PEER", "{ipBlock: {cidr: 10.0.0.0/8}}")
    file = written(
        tmp_path, namespace("blue", "b") + namespace("red", "r") + policy("blue", both) + policy("red", both)
    )
    assert run_command(["isolation", file]) == 0
    assert "the addresses of pods are unknown; rules allow 10.0.0.0-10.255.255.255" in capsys.readouterr().out
    assert run_command(["isolation", file, "--pod-cidrs", "10.0.0.0/16, fd00::/64"]) == 1
    assert "OPEN b -> r: all ports" in capsys.readouterr().out
    assert run_command(["isolation", file, "--pod-cidrs", "192.168.0.0/16"]) == 0
    with pytest.raises(UsageError, match="--pod-cidrs requires IP ranges"):
        run_command(["isolation", file, "--pod-cidrs", "10.0.0"])


def test_what_could_not_be_read_breaks_the_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Policies add up: a policy that is unreadable may be the policy that opens everything."""
    closed = namespace("blue", "b") + namespace("red", "r") + policy("red", DENY) + policy("blue", DENY)
    file = written(tmp_path, closed)
    (tmp_path / "other.yaml").write_text("kind: [\n")
    assert run_command(["isolation", file]) == 0
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .startswith("The proof holds, if all assumptions without evidence are true")
    )
    assert run_command(["isolation", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert "broken    gpuc can read every file" in output.out
    assert output.out.endswith("The proof does not hold; broken assumptions: 1.\n")
    assert f"{tmp_path}/other.yaml:2:1: not YAML" in output.err


def test_a_dozen_tenants_are_a_matrix_of_signs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(namespace(f"ns-{number}", f"tenant-{number:02d}") for number in range(12))
    assert run_command(["isolation", written(tmp_path, text + policy("ns-1", DENY))]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert ". blocked, d declared, X open" in lines
    assert " 2 tenant-01 .  -  .  .  .  .  .  .  .  .  .  ." in lines
    assert " 1 tenant-00 -  .  X  X  X  X  X  X  X  X  X  X" in lines
    assert any(line.startswith("11 namespaces have no ingress policy: ns-0, ns-10") for line in lines)
    assert "and 100 more pairs; --format json lists all connections" in lines
    assert len(lines) < 90
