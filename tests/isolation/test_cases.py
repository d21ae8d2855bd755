"""Objects as users write them: each property that decides whether tenants can reach each other."""

import json
from typing import Any

import pytest
import yaml

from gpuc.isolation import findings
from gpuc.isolation.assumptions import Basis, assumptions
from gpuc.isolation.proof import Reachability, State, verdicts
from gpuc.isolation.tenancy import Tenancy, labelled_tenancy, separate_tenancy
from gpuc.kubernetes.addresses import read_ranges
from gpuc.kubernetes.ports import described
from gpuc.kubernetes.selector import satisfiable
from gpuc.objects.network_policies import GROUP, read_policies
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.selectors import read_selector
from tests.isolation.cases import DENY, namespace, policy, tenants, tree
from tests.tables import table

_TABLE = table(__file__, "cases.yaml")
TWO = namespace("blue", "blue") + namespace("red", "red")


def reachability_of(made: ObjectSet, tenancy: Tenancy | None = None, pods: str = "") -> Reachability:
    policies = read_policies(made.of(GROUP, "NetworkPolicy"))
    return Reachability(policies, tenancy or labelled_tenancy(made), read_ranges([pods]) if pods else None)


def between(made: ObjectSet, pods: str = "") -> dict[tuple[str, str], str]:
    """Returns the verdict and the ports of each ordered pair of tenants, for example `open on TCP 80`."""
    return {
        (found.client, found.server): " on ".join(filter(None, (found.state.value, described(found.ports))))
        for found in verdicts(reachability_of(made, pods=pods))
    }


@pytest.mark.parametrize("case", _TABLE["cases"], ids=lambda case: case["why"])
def test_verdicts_and_findings(case: dict[str, Any]) -> None:
    text = TWO.replace("gpuc.dev/tenant", case.get("label", "gpuc.dev/tenant"))
    for space in ("blue", "red"):
        for number, spec in enumerate(case.get(space, ())):
            row = spec if "why" in spec else {"spec": spec, "why": ""}
            text += policy(space, json.dumps(row["spec"]), f"p{number}", row["why"])
    made = tree(text, is_complete="is_file" not in case)
    if "pairs" in case:
        assert list(between(made).values()) == case["pairs"]
    if "findings" in case:
        places = [(row.rule.id, row.manifest.namespace or row.manifest.name) for row in findings(made)]
        assert [" ".join(place) for place in places] == case["findings"]


@pytest.mark.parametrize(("block", "pods", "state"), _TABLE["ranges"])
def test_a_range_opens_to_the_pods_that_it_holds(block: dict[str, Any], pods: str, state: str) -> None:
    outward = {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{"to": [{"ipBlock": block}]}]}
    assert between(tree(TWO + policy("blue", json.dumps(outward))), pods)["blue", "red"].startswith(state)


STRANGE = ["null", "7", "x", "[]", "[[]]", "{}", "[{}]", "[null]", "{a: [1]}", "[{a: {b: 1}}]", "true", '"*"', "[[1]]"]


@pytest.mark.parametrize("value", STRANGE)
def test_no_value_at_any_place_stops_the_judge(value: str) -> None:
    around = yaml.safe_dump_all(_TABLE["around"], explicit_start=True, default_flow_style=True, width=10_000)
    for spec in _TABLE["places"]:
        text = (around + policy("blue", json.dumps(spec))).replace('"VALUE"', "VALUE").replace("VALUE", value)
        for is_complete in (True, False):
            made = tree(TWO + text, is_complete=is_complete)
            list(findings(made))
            for tenancy in (labelled_tenancy(made), separate_tenancy(made)):
                assert assumptions(made, reachability_of(made, tenancy))


def test_labels_can_meet_many_selectors_and_miss_many_more() -> None:
    """The general problem can take exponential time. Labels and selectors as users write them take little time."""
    unwanted = [read_selector({"matchLabels": {f"k{number}": "a", f"k{number + 1}": "b"}}) for number in range(300)]
    keys = [{"key": f"k{number}", "operator": "Exists"} for number in range(301)]
    wanted = read_selector({"matchExpressions": keys})
    assert satisfiable(wanted, unwanted)
    assert not satisfiable(wanted, [*unwanted, read_selector({"matchExpressions": keys[7:8]})])


def test_foreign_namespaces_are_tenants_but_for_those_of_the_platform() -> None:
    spaces = "".join(namespace(name, "x") for name in ("shop", "kube-system", "argocd"))
    text = spaces.replace("gpuc.dev/tenant", "team") + policy("shop", DENY) + policy("bank", DENY)
    made = tree(text, is_complete=False)
    tenancy = separate_tenancy(made)
    assert (tenancy.names, tenancy.unlabelled) == (("bank", "shop"), ("bank",))
    assert list(findings(made)) == []


def test_a_hundred_tenants_are_proven() -> None:
    found = verdicts(reachability_of(tree(tenants(100))))
    assert len(found) == 9900
    assert {verdict.state for verdict in found} == {State.BLOCKED}


OTHER = "---\napiVersion: {}\nkind: {}\nmetadata: {{name: a, namespace: red}}\n"


@pytest.mark.parametrize(
    ("text", "what", "basis"),
    [
        (namespace("a", "a", "baseline") + namespace("b", "b"), "uses the host network", Basis.CHECKED),
        (namespace("a", "a", "privileged") + namespace("b", "b"), "uses the host network", Basis.BROKEN),
        (TWO, "uses a secondary network", Basis.ASSUMED),
        (
            TWO + OTHER.format("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition"),
            "uses a secondary network",
            Basis.BROKEN,
        ),
        (TWO, "change NetworkPolicies", Basis.ASSUMED),
        (TWO, "are enforced", Basis.ASSUMED),
        (
            TWO + OTHER.format("cilium.io/v2", "CiliumNetworkPolicy"),
            "of other kinds do not allow more connections",
            Basis.CHECKED,
        ),
    ],
)
def test_what_the_proof_rests_on(text: str, what: str, basis: Basis) -> None:
    made = tree(text)
    found = assumptions(made, reachability_of(made))
    assert [assumption.basis for assumption in found if what in assumption.claim] == [basis]
