"""CiliumNetworkPolicies in the proof of isolation and in the DNS check."""

from pathlib import Path

import pytest

from gpuc.catalog import load
from gpuc.cli.main import run_command
from gpuc.isolation import dns_egress
from gpuc.isolation.assumptions import Basis, assumptions
from gpuc.isolation.proof import Reachability, State, opened_services, verdicts
from gpuc.isolation.tenancy import labelled_tenancy
from gpuc.kubernetes.addresses import contains, read_ranges
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.other_policies import enforced_policies, other_policies, read_cilium_policy
from tests.isolation.cases import DENY, namespace, policy, tree
from tests.tables import table


def cilium(space: str, spec: str, name: str = "c") -> str:
    return f"""---
apiVersion: cilium.io/v2
kind: CiliumNetworkPolicy
metadata: {{name: {name}, namespace: {space}}}
spec: {spec}
"""


TENANTS = namespace("red", "r") + namespace("blue", "b")
CLOSED = TENANTS + policy("red", DENY) + policy("blue", DENY)


def reachability(objects: ObjectSet, engine: str = "cilium") -> Reachability:
    return Reachability(enforced_policies(objects, engine), labelled_tenancy(objects), read_ranges(["10.0.0.0/17"]))


def open_pairs(text: str, engine: str = "cilium") -> set[tuple[str, str]]:
    found = verdicts(reachability(tree(text), engine))
    return {(verdict.client, verdict.server) for verdict in found if verdict.state is State.OPEN}


SPECS = table(__file__, "cilium.yaml")


@pytest.mark.parametrize("spec", SPECS["open_ingress"])
def test_c2_a_rule_that_includes_pods_of_another_tenant_opens_the_pair(spec: str) -> None:
    client = cilium("blue", "{endpointSelector: {}, egress: [{toEntities: [cluster]}]}")
    assert open_pairs(CLOSED + client + cilium("red", spec)) == {("b", "r")}


@pytest.mark.parametrize("spec", SPECS["closed_ingress"])
def test_c2_a_rule_without_pods_of_another_tenant_opens_nothing(spec: str) -> None:
    client = cilium("blue", "{endpointSelector: {}, egress: [{toEntities: [cluster]}]}")
    assert open_pairs(CLOSED + client + cilium("red", spec)) == set()


@pytest.mark.parametrize("spec", SPECS["unread"])
def test_a_policy_that_gpuc_cannot_evaluate_leaves_the_proof_open(spec: str) -> None:
    objects = tree(CLOSED + cilium("red", spec))
    assert [manifest.name for manifest in other_policies(objects)] == ["c"]
    found = assumptions(objects, reachability(objects))
    assert [assumption.basis for assumption in found if assumption.claim.startswith("policies of other kinds")] == [
        Basis.UNPROVEN
    ]


def test_other_shapes_do_not_fail() -> None:
    for body in ({}, {"specs": 7}, {"specs": [7]}, {"spec": {"endpointSelector": {}, "egress": [{"toPorts": [7]}]}}):
        assert read_cilium_policy(Manifest("f", (), "cilium.io/v2", "CiliumNetworkPolicy", "c", body, "red")) is None


def test_a_cilium_policy_isolates_in_the_directions_of_its_rules() -> None:
    egress = "{endpointSelector: {}, egress: [{toEntities: [host]}]}"
    only_one = TENANTS + cilium("red", egress) + cilium("blue", egress)
    assert open_pairs(only_one) == set()
    assert open_pairs(only_one, engine="vpc-cni") == {("b", "r"), ("r", "b")}, "the VPC CNI does not know the kind"


def test_ports_meet_at_both_ends() -> None:
    client = cilium("blue", "{endpointSelector: {}, egress: [{toEntities: [all], toPorts: [{ports: [{port: '80'}]}]}]}")
    server = "{endpointSelector: {}, ingress: [{fromEntities: [all], toPorts: [{ports: [{port: '%s', endPort: %s}]}]}]}"
    assert open_pairs(CLOSED + client + cilium("red", server % (70, 90))) == {("b", "r")}
    assert open_pairs(CLOSED + client + cilium("red", server % (81, 90))) == set()


@pytest.mark.parametrize(
    ("peer", "is_allowed"),
    [
        ("toEntities: [host]", True),  # the DNS cache on the node
        ("toEntities: [remote-node]", False),
        ("toEndpoints: [{matchLabels: {'k8s:io.kubernetes.pod.namespace': kube-system, k8s-app: kube-dns}}]", True),
        ("toEndpoints: [{matchLabels: {k8s-app: kube-dns}}]", False),
    ],
)
def test_c2_dns_can_be_allowed_by_a_cilium_policy(peer: str, is_allowed: bool) -> None:
    spec = f"{{endpointSelector: {{}}, egress: [{{{peer}, toPorts: [{{ports: [{{port: '53', protocol: ANY}}]}}]}}]}}"
    queue = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: red}
spec: {clusterQueue: q}
"""
    objects = tree(namespace("red", "r") + policy("red", DENY) + queue + cilium("red", spec))
    assert (list(dns_egress.findings(objects)) == []) == is_allowed


def test_c3_an_address_range_with_services_opens_pods_of_all_tenants_on_the_vpc_cni() -> None:
    """The VPC CNI judges a packet before the address of a Service is replaced; Cilium judges the packet after that."""
    out = policy(
        "blue", "{podSelector: {}, egress: [{to: [{ipBlock: {cidr: 172.20.0.0/16}}], ports: [{port: 80}]}]}", "o"
    )
    into = policy("red", "{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}], ports: [{port: 8000}]}]}", "i")
    objects = tree(CLOSED + out + into)
    for engine, expected in (("vpc-cni", State.OPEN), ("cilium", State.BLOCKED)):
        services = opened_services(load().datapaths[engine], "172.20.0.0/16", "172.20.0.1")
        pods = read_ranges(["10.0.0.0/17"])
        proof = Reachability(enforced_policies(objects, engine), labelled_tenancy(objects), pods, services)
        states = {(verdict.client, verdict.server): verdict.state for verdict in verdicts(proof)}
        assert states["b", "r"] is expected
    services = opened_services(load().datapaths["vpc-cni"], "172.20.0.0/16", "172.20.0.1")
    assert not contains(services, "172.20.0.1"), "only the API server is behind Service kubernetes"
    assert contains(services, "172.20.0.2")


def test_gpuc_isolation_reads_files_with_cilium_policies_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = "{endpointSelector: {}, ingress: [{}], egress: [{}]}"
    file = tmp_path / "policies.yaml"
    file.write_text(cilium("red", closed) + cilium("blue", closed), encoding="utf-8")
    assert run_command(["isolation", str(file)]) == 0
    assert "2 ordered pairs: 2 blocked" in capsys.readouterr().out
