"""Objects as users write them: one test for each property that decides whether tenants can reach each other."""

from __future__ import annotations

import pytest

from gpuc.isolation import findings
from gpuc.isolation.assumptions import Basis, assumptions
from gpuc.isolation.proof import Reachability, State, verdicts
from gpuc.isolation.tenancy import labelled_tenancy, separate_tenancy
from gpuc.kubernetes.addresses import read_ranges
from gpuc.kubernetes.ports import described
from gpuc.kubernetes.selector import satisfiable
from gpuc.objects.network_policies import GROUP, read_policies
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.selectors import read_selector
from tests.isolation.cases import DENY, namespace, policy, tenants, tree

TWO = namespace("blue", "blue") + namespace("red", "red")
CLOSED = policy("blue", DENY, "deny") + policy("red", DENY, "deny")
RED = "{namespaceSelector: {matchLabels: {gpuc.dev/tenant: red}}}"
TO_RED = f"{{podSelector: {{}}, policyTypes: [Egress], egress: [{{to: [{RED}]}}]}}"


def between(made: ObjectSet, pods: str = "") -> dict[tuple[str, str], tuple[str, str]]:
    """Returns the verdict and the ports of each ordered pair of tenants."""
    reachability = Reachability(
        read_policies(made.of(GROUP, "NetworkPolicy")), labelled_tenancy(made), read_ranges([pods]) if pods else None
    )
    return {
        (verdict.client, verdict.server): (verdict.state.value, described(verdict.ports))
        for verdict in verdicts(reachability)
    }


def ids(text: str, *, is_complete: bool = True) -> list[tuple[str, str, str]]:
    """Returns the rule, the kind, and the namespace or name of each finding."""
    found = findings(tree(text, is_complete=is_complete))
    return [
        (finding.rule.id, finding.manifest.kind, finding.manifest.namespace or finding.manifest.name)
        for finding in found
    ]


def test_without_any_policy_nothing_is_promised() -> None:
    assert ids(TWO) == []
    assert between(tree(TWO)) == {("blue", "red"): ("open", "all ports"), ("red", "blue"): ("open", "all ports")}


def test_one_closed_tenant_is_closed_both_ways() -> None:
    assert set(between(tree(TWO + policy("blue", DENY))).values()) == {("blocked", "")}


def test_policies_without_types_isolate_ingress_only() -> None:
    text = TWO + policy("blue", "{podSelector: {}}")
    assert between(tree(text)) == {("blue", "red"): ("open", "all ports"), ("red", "blue"): ("blocked", "")}
    assert ids(text) == []


def test_rules_of_a_direction_that_no_type_names_allow_no_tenant() -> None:
    peers = "[{namespaceSelector: {matchLabels: {gpuc.dev/tenant: other}}}]"
    rules = f"podSelector: {{}}, ingress: [{{from: {peers}}}], egress: [{{to: {peers}}}]"
    open_both = policy("blue", f"{{policyTypes: [Ingress, Egress], {rules}}}")
    assert ("ISO004", "Namespace", "blue") in ids(TWO + open_both)
    assert ids(TWO + open_both.replace("[Ingress, Egress]", "[Egress]")) == []


def test_egress_rules_without_types_isolate_both() -> None:
    text = TWO + policy("blue", "{podSelector: {}, egress: [{ports: [{port: 53, protocol: UDP}]}]}")
    assert between(tree(text)) == {("blue", "red"): ("open", "UDP 53"), ("red", "blue"): ("blocked", "")}
    assert ids(text) == [("ISO001", "NetworkPolicy", "blue")]


def test_labels_of_pods_fence_nobody() -> None:
    web = "{namespaceSelector: {}, podSelector: {matchLabels: {role: web}}}"
    inward = f"{{podSelector: {{matchLabels: {{app: api}}}}, ingress: [{{from: [{web}]}}]}}"
    text = TWO + CLOSED + policy("red", inward, "api") + policy("blue", TO_RED, "out")
    assert between(tree(text))["blue", "red"] == ("open", "all ports")
    assert ids(text) == [("ISO001", "NetworkPolicy", "red"), ("ISO001", "NetworkPolicy", "blue")]


def test_labels_that_no_pod_can_have_at_once_open_nothing() -> None:
    inward = "{podSelector: {matchLabels: {app: api}}, ingress: [{from: [{namespaceSelector: {}}]}]}"
    outward = (
        "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {},"
        " podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [api]}]}}]}]}"
    )
    text = TWO + CLOSED + policy("red", inward, "api") + policy("blue", outward, "out")
    assert between(tree(text))["blue", "red"] == ("blocked", "")
    assert ids(text) == [("ISO002", "NetworkPolicy", "red"), ("ISO002", "NetworkPolicy", "blue")]


def test_ports_of_both_ends_have_to_meet() -> None:
    inward = "{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}], ports: [{port: 80}]}]}"
    outward = "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {}}], ports: [PORT]}]}"
    for port, expected in (
        ("{port: 81}", ("blocked", "")),
        ("{port: 80, protocol: UDP}", ("blocked", "")),
        ("{port: 70, endPort: 90}", ("open", "TCP 80")),
        ("{port: http}", ("open", "TCP 80 named http")),
    ):
        text = TWO + CLOSED + policy("red", inward, "in") + policy("blue", outward.replace("PORT", port), "out")
        assert between(tree(text))["blue", "red"] == expected


@pytest.mark.parametrize(
    ("block", "pods", "state"),
    [
        ("{cidr: 0.0.0.0/0}", "", "open"),
        ("{cidr: 0.0.0.0/0, except: [10.0.0.0/8]}", "", "blocked"),
        ("{cidr: 10.0.0.0/8}", "", "blocked"),
        ("{cidr: 10.0.0.0/8}", "10.1.0.0/16", "open"),
        ("{cidr: 10.0.0.0/8, except: [10.1.0.0/16]}", "10.1.0.0/16", "blocked"),
        ("{cidr: 10.0.0.0/8, except: [10.1.0.0/17]}", "10.1.0.0/16", "open"),
        ('{cidr: "::/0"}', "10.1.0.0/16", "blocked"),
    ],
)
def test_a_range_opens_to_the_pods_that_it_holds(block: str, pods: str, state: str) -> None:
    outward = f"{{podSelector: {{}}, policyTypes: [Egress], egress: [{{to: [{{ipBlock: {block}}}]}}]}}"
    text = TWO + policy("blue", outward)
    assert between(tree(text), pods)["blue", "red"][0] == state


def test_an_exception_is_declared_by_a_reason_and_a_name() -> None:
    blue = "{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}}"
    by_name = f"{{podSelector: {{}}, ingress: [{{from: [{blue}]}}]}}"
    named = TWO + policy("red", DENY, "deny") + policy("red", by_name, "in", why="search calls us")
    assert between(tree(named))["blue", "red"][0] == "declared"
    assert ids(named) == []
    silent = TWO + policy("red", DENY, "deny") + policy("red", by_name, "in")
    assert ids(silent) == [("ISO001", "NetworkPolicy", "red")]
    wide = TWO + policy("red", DENY, "deny")
    wide += policy("red", "{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}", "in", why="everybody")
    assert ids(wide) == [("ISO001", "NetworkPolicy", "red")]


def test_of_files_only_rules_that_stand_there_count() -> None:
    """A missing NetworkPolicy may be in another file. Other files cannot close a connection that two rules allow."""
    assert ids(TWO + policy("blue", DENY), is_complete=False) == []
    inward = "{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}"
    text = TWO + policy("red", inward, "in") + policy("blue", TO_RED, "out")
    assert [row[0] for row in ids(text, is_complete=False)] == ["ISO001", "ISO001"]
    assert ids(text.replace("gpuc.dev/tenant", "team"), is_complete=False) == []


def test_a_policy_that_the_api_server_refuses_isolates_nothing() -> None:
    for spec in (
        "[]",
        "{}",
        "{podSelector: 3}",
        "{podSelector: {}, policyTypes: Ingress}",
        "{podSelector: {}, ingress: [7]}",
    ):
        text = TWO + policy("blue", spec)
        is_fine = spec == "{}"  # no selector selects all pods
        assert (between(tree(text))["red", "blue"][0] == "blocked") == is_fine, spec


STRANGE = ["null", "7", "x", "[]", "[[]]", "{}", "[{}]", "[null]", "{a: [1]}", "[{a: {b: 1}}]", "true", '"*"', "[[1]]"]


@pytest.mark.parametrize("value", STRANGE)
def test_no_value_at_any_place_stops_the_judge(value: str) -> None:
    specs = [
        "VALUE", "{podSelector: VALUE}", "{podSelector: {matchLabels: VALUE}}",
        "{podSelector: {matchLabels: {a: VALUE}}}",
        "{podSelector: {matchExpressions: VALUE}}",
        "{podSelector: {matchExpressions: [{key: VALUE, operator: VALUE, values: VALUE}]}}",
        "{podSelector: {matchExpressions: [{key: a, operator: In, values: [VALUE]}]}}",
        "{podSelector: {}, policyTypes: VALUE}", "{podSelector: {}, policyTypes: [VALUE]}",
        "{podSelector: {}, ingress: VALUE}",
        "{podSelector: {}, ingress: [VALUE]}", "{podSelector: {}, ingress: [{from: VALUE}]}",
        "{podSelector: {}, ingress: [{from: [VALUE]}]}", "{podSelector: {}, ingress: [{ports: VALUE}]}",
        "{podSelector: {}, ingress: [{ports: [VALUE]}]}",
        "{podSelector: {}, ingress: [{ports: [{port: VALUE, endPort: VALUE, protocol: VALUE}]}]}",
        "{podSelector: {}, ingress: [{from: [{ipBlock: VALUE}]}]}",
        "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: VALUE, except: VALUE}}]}]}",
        "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [VALUE]}}]}]}",
        "{podSelector: {}, ingress: [{from: [{namespaceSelector: VALUE, podSelector: VALUE}]}]}",
        "{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {gpuc.dev/tenant: VALUE}}}]}]}",
    ]  # fmt: skip
    spaces = "---\napiVersion: v1\nkind: Namespace\n"
    spaces += f"metadata: {{name: odd, labels: {{gpuc.dev/tenant: {value}, a: {value}}}}}\n"
    spaces += f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: odder, labels: {value}}}\n"
    constraint = (
        "---\napiVersion: constraints.gatekeeper.sh/v1beta1\nkind: K\nmetadata: {name: k}\n"
        "spec: {enforcementAction: VALUE, match: {kinds: VALUE, namespaces: VALUE, namespaceSelector: VALUE}}\n"
        "---\napiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {name: k}\n"
        "spec: {targets: [hostNetwork ingress egress namespaceSelector]}\n"
        "---\napiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\n"
        "spec: {match: [{excludedNamespaces: VALUE, processes: VALUE}, VALUE]}\n"
    )
    for spec in specs:
        for is_complete in (True, False):
            text = TWO + spaces + constraint.replace("VALUE", value) + policy("blue", spec.replace("VALUE", value))
            made = tree(text, is_complete=is_complete)
            list(findings(made))
            for tenancy in (labelled_tenancy(made), separate_tenancy(made)):
                reachability = Reachability(read_policies(made.of(GROUP, "NetworkPolicy")), tenancy)
                assert assumptions(made, reachability)


def test_labels_can_meet_many_selectors_and_miss_many_more() -> None:
    """The general problem can take exponential time. Labels and selectors as users write them take little time."""
    unwanted = [read_selector({"matchLabels": {f"k{number}": "a", f"k{number + 1}": "b"}}) for number in range(300)]
    wanted = read_selector({"matchExpressions": [{"key": f"k{number}", "operator": "Exists"} for number in range(301)]})
    assert satisfiable(wanted, unwanted)
    assert not satisfiable(
        wanted, [*unwanted, read_selector({"matchExpressions": [{"key": "k7", "operator": "Exists"}]})]
    )


def test_foreign_namespaces_are_tenants_but_for_those_of_the_platform() -> None:
    text = "".join(
        f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"
        for name in ("shop", "kube-system", "argocd")
    )
    made = tree(text + policy("shop", DENY) + policy("bank", DENY), is_complete=False)
    tenancy = separate_tenancy(made)
    assert tenancy.names == ("bank", "shop")
    assert tenancy.unlabelled == ("bank",)
    assert list(findings(made)) == []


def test_a_hundred_tenants_are_proven() -> None:
    made = tree(tenants(100))
    reachability = Reachability(read_policies(made.of(GROUP, "NetworkPolicy")), labelled_tenancy(made))
    found = verdicts(reachability)
    assert len(found) == 9900
    assert {verdict.state for verdict in found} == {State.BLOCKED}


@pytest.mark.parametrize(
    ("text", "what", "basis"),
    [
        (namespace("a", "a", "baseline") + namespace("b", "b"), "uses the host network", Basis.CHECKED),
        (namespace("a", "a", "privileged") + namespace("b", "b"), "uses the host network", Basis.BROKEN),
        (TWO, "uses a secondary network", Basis.ASSUMED),
        (
            TWO + "---\napiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {name: rdma}\n",
            "uses a secondary network",
            Basis.BROKEN,
        ),
        (TWO, "change NetworkPolicies", Basis.ASSUMED),
        (TWO, "are enforced", Basis.ASSUMED),
        (
            TWO + "---\napiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: c, namespace: red}\n",
            "of other kinds do not allow more connections",
            Basis.CHECKED,
        ),
    ],
)
def test_what_the_proof_rests_on(text: str, what: str, basis: Basis) -> None:
    made = tree(text)
    reachability = Reachability(read_policies(made.of(GROUP, "NetworkPolicy")), labelled_tenancy(made))
    assert [assumption.basis for assumption in assumptions(made, reachability) if what in assumption.claim] == [basis]
