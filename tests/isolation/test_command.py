"""`gpuc isolation` with specs and with manifest files."""

import json
from collections.abc import Callable
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


SPACES = namespace("blue", "b") + namespace("red", "r")
CLOSED = SPACES + policy("red", DENY, "deny") + policy("blue", DENY, "deny")
Command = Callable[..., tuple[int, str]]
"""The exit code and the report: `command(*words, root=FOLDER)`."""
Proof = Callable[..., tuple[int, str]]
"""The exit code and the report for the file tree.yaml: `proof(TEXT, *options)`."""


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(*words: str, root: Path = ROOT) -> tuple[int, str]:
        monkeypatch.chdir(root)
        capsys.readouterr()
        return run_command(["isolation", *words]), capsys.readouterr().out

    return run


@pytest.fixture
def proof(tmp_path: Path, command: Command) -> Proof:
    def run(text: str, *options: str) -> tuple[int, str]:
        (tmp_path / "tree.yaml").write_text(text, encoding="utf-8")
        return command(str(tmp_path / "tree.yaml"), *options)

    return run


def test_the_examples_are_proven(command: Command) -> None:
    code, output = command("--format", "json")
    assert code == 0
    proofs = json.loads(output)["proofs"]
    assert {proof["name"] for proof in proofs} == set(EXAMPLES)
    for proof in proofs:
        assert proof["holds"]
        assert {pair["state"] for pair in proof["pairs"]} == {"blocked"}
        assert len(proof["pairs"]) == len(proof["tenants"]) * (len(proof["tenants"]) - 1)
        assert {assumption["basis"] for assumption in proof["assumptions"]} == {"checked", "declared", "assumed"}


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("words", "root", "lines"),
    [
        ("out/prod-use1", ROOT, ["6 ordered pairs: 6 blocked", "assumed   NetworkPolicies are enforced"]),
        (
            "prod-use1",
            ROOT,
            [
                "Facts about the engine vpc-cni",
                "Service kubernetes has no selector",
                "source: aws/amazon-network-policy-controller-k8s v1.1.7 pkg/resolvers/endpoints.go",
                "checked   no tenant can write Endpoints or EndpointSlices",
            ],
        ),
        (
            "vega-prod",
            HUB,
            [
                "api from gateways of Cilium: TCP 8000 (api-serving)",
                "api from the internet: TCP 8443 (api-serving)",
                "finance to **.hf.co, huggingface.co: TCP 443 (finance-notebooks)",
                "nlp to the internet: TCP 443 (nlp-lab, nlp-train)",
                "gpuc does not know the addresses of **.hf.co, huggingface.co",
                "rules allow connections from gateways to tenant api",
                "connections to the internet from tenant nlp, and from the internet to tenant api",
                "declared  only load balancers have addresses in 10.40.32.0/24, 10.40.33.0/24, from which their health "
                "checks come",
                "its health checks always come from its own addresses",
            ],
        ),
    ],
)
def test_the_report_has_lines(words: str, root: Path, lines: list[str], command: Command) -> None:
    code, output = command(words, root=root)
    assert (code, [line for line in lines if line not in output]) == (0, [])


@pytest.mark.slow
def test_the_json_report_lists_facts_about_the_engine_and_public_addresses(command: Command) -> None:
    (cilium,) = json.loads(command("train-usw2", "--format", "json")[1])["proofs"]
    assert (cilium["engine"], len(cilium["facts"])) == ("cilium", len(load().datapaths["cilium"]))
    (public,) = json.loads(command("vega-prod", "--format", "json", root=HUB)[1])["proofs"]
    assert {"tenant": "nlp", "direction": "egress", "peers": ["the internet"], "ports": "TCP 443",
            "namespaces": ["nlp-lab", "nlp-train"]} in public["public"]  # fmt: skip


def test_s4_the_report_names_the_ranges_from_which_health_checks_come(proof: Proof) -> None:
    world = "{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10]}}"
    rules = f"{{podSelector: {{}}, ingress: [{{from: [{world}, {{ipBlock: {{cidr: 10.9.0.0/24}}}}]}}]}}"
    code, output = proof(SPACES + policy("red", rules))
    assert code == 1, "nothing isolates blue"
    assert "assumed   only load balancers have addresses in 10.9.0.0/24" in output, "no spec declares it"
    assert "the address ranges in rules contain no pods\n" in output, "load balancers may be in a range of ingress"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("{cidr: 0.0.0.0/0, except: [0.0.0.0/1, 128.0.0.0/2]}", "red to 192.0.0.0/2: all ports (red)"),
        ("{cidr: 192.168.0.0/16}", ""),
    ],
)
def test_private_ranges_are_not_public(block: str, expected: str, proof: Proof) -> None:
    peers = f"[{{ipBlock: {{cidr: 10.0.0.0/8}}}}, {{ipBlock: {block}}}]"
    rules = f"{{podSelector: {{}}, egress: [{{to: {peers}}}]}}"
    _, output = proof(namespace("red", "red") + policy("red", rules))
    assert ("Public addresses" in output, expected in output) == (bool(expected), True)


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


def test_an_open_pair_names_rules_and_ports(tmp_path: Path, proof: Proof) -> None:
    text = SPACES + policy("red", OPEN_IN, "in") + policy("blue", OPEN_OUT, "out") + policy("blue", DENY, "deny")
    code, output = proof(text)
    file, lines = tmp_path / "tree.yaml", text.splitlines()
    inward, outward = (next(n for n, line in enumerate(lines, 1) if word in line) for word in (OPEN_IN, OPEN_OUT))
    assert (code, "OPEN b -> r: TCP 80" in output) == (1, True)
    assert f"egress   NetworkPolicy blue/out, spec.egress[0].to[0], {file}:{outward}:" in output
    assert f"ingress  NetworkPolicy red/in, spec.ingress[0].from[0], {file}:{inward}:" in output
    assert output.endswith("The proof does not hold; open pairs: 1 of 2.\n")
    code, output = proof(text, "--format", "json")
    pairs = json.loads(output)["proofs"][0]["pairs"]
    assert [(pair["from"], pair["to"], pair["state"]) for pair in pairs] == [("b", "r", "open"), ("r", "b", "blocked")]
    ingress = {"policy": "red/in", "file": str(file), "line": inward, "path": "spec.ingress[0].from[0]"}
    assert (code, pairs[0]["ways"][0]["ingress"]) == (1, ingress)


def test_a_proof_that_rests_on_something_false_does_not_hold(proof: Proof) -> None:
    binding = """---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: devs, namespace: red}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}]
"""
    assert proof(CLOSED)[0] == 0
    code, output = proof(CLOSED + binding)
    assert (code, "broken    no tenant can change NetworkPolicies" in output) == (1, True)


def test_tenants_by_another_label_and_by_namespace(proof: Proof) -> None:
    spaces = "".join(namespace(name, "x") for name in ("blue", "red", "kube-system"))
    text = spaces.replace("gpuc.dev/tenant", "team") + policy("red", DENY)
    assert "2 tenants (every namespace is a tenant)" in proof(text)[1]
    assert "1 tenants (by label team)" in proof(text, "--tenant-label", "team")[1]
    with pytest.raises(UsageError, match=r"no Namespace in .* has the label crew"):
        proof(text, "--tenant-label", "crew")


def test_many_tenants_fit_a_terminal(proof: Proof) -> None:
    code, output = proof(
        "".join(namespace(f"team-{number}", f"t{number}") + policy(f"team-{number}", DENY) for number in range(30))
    )
    assert (code, "870 ordered pairs: 870 blocked" in output) == (0, True)
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


@pytest.mark.parametrize(("spec", "rule"), MISTAKES.values(), ids=MISTAKES)
def test_the_usual_mistakes_are_named_by_their_rules(spec: str, rule: str, proof: Proof) -> None:
    text = CLOSED + policy("blue", "{podSelector: {}, policyTypes: [Egress], egress: [{}]}", "out")
    assert proof(text)[0] == 0
    code, output = proof(text + policy("red", spec, "mistake"))
    (line,) = (line for line in output.splitlines() if line.strip().startswith("ingress "))
    assert (code, "NetworkPolicy red/mistake" in line, rule in line) == (1, True, True)


def test_policies_that_forget_a_direction_or_stand_elsewhere_leave_it_open(proof: Proof) -> None:
    code, output = proof(SPACES + policy("blue", "{podSelector: {}, ingress: []}") + policy("default", DENY))
    assert (code, "OPEN b -> r: all ports" in output) == (1, True)
    assert "namespace blue has no egress policy" in output
    assert "namespace red has no ingress policy" in output
    assert "r         blocked   -" in output, "no pod of red gets into blue"


def test_a_range_is_judged_by_where_pods_have_their_addresses(proof: Proof) -> None:
    both = "{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{from: [PEER]}], egress: [{to: [PEER]}]}"
    both = both.replace("PEER", "{ipBlock: {cidr: 10.0.0.0/8}}")
    text = SPACES + policy("blue", both) + policy("red", both)
    code, output = proof(text)
    assert (code, "the addresses of pods are unknown; rules allow 10.0.0.0-10.255.255.255" in output) == (0, True)
    code, output = proof(text, "--pod-cidrs", "10.0.0.0/16, fd00::/64")
    assert (code, "OPEN b -> r: all ports" in output) == (1, True)
    assert proof(text, "--pod-cidrs", "192.168.0.0/16")[0] == 0
    with pytest.raises(UsageError, match="--pod-cidrs requires IP ranges"):
        proof(text, "--pod-cidrs", "10.0.0")


def test_what_could_not_be_read_breaks_the_proof(
    tmp_path: Path, proof: Proof, capsys: pytest.CaptureFixture[str]
) -> None:
    """Policies add up: a policy that is unreadable may be the policy that opens everything."""
    (tmp_path / "other.yaml").write_text("kind: [\n")
    code, output = proof(CLOSED)
    assert (code, output.splitlines()[-1].startswith("The proof holds, if all assumptions")) == (0, True)
    assert run_command(["isolation", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert "broken    gpuc can read every file" in captured.out
    assert captured.out.endswith("The proof does not hold; broken assumptions: 1.\n")
    assert f"{tmp_path}/other.yaml:2:1: not YAML" in captured.err


def test_a_dozen_tenants_are_a_matrix_of_signs(proof: Proof) -> None:
    text = "".join(namespace(f"ns-{number}", f"tenant-{number:02d}") for number in range(12))
    code, output = proof(text + policy("ns-1", DENY))
    lines = output.splitlines()
    assert (code, len(lines) < 90) == (1, True)
    assert ". blocked, d declared, X open" in lines
    assert " 2 tenant-01 .  -  .  .  .  .  .  .  .  .  .  ." in lines
    assert " 1 tenant-00 -  .  X  X  X  X  X  X  X  X  X  X" in lines
    assert any(line.startswith("11 namespaces have no ingress policy: ns-0, ns-10") for line in lines)
    assert "and 100 more pairs; --format json lists all connections" in lines
