"""Which nodes of a NodePool a change replaces, for changes that no spec of gpuc makes."""

from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.plan.change import Change, Pair
from gpuc.plan.differences import MISSING, FieldChange
from gpuc.plan.state import HELM_VALUES, State
from gpuc.substrates.eks.drift import Scope, drifts, field_words

POOL = Manifest("", (), "karpenter.sh/v1", "NodePool", "train", {
    "spec": {"template": {"spec": {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "train"},
        "requirements": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a", "b"]}],
    }}},
})  # fmt: skip
CLASS = Manifest("", (), "karpenter.k8s.aws/v1", "EC2NodeClass", "train", {"spec": {"amiFamily": "AL2023"}})


def state(spec: dict[str, Any]) -> State:
    """The NodePool, and an EC2NodeClass with more fields."""
    node_class = replace(CLASS, body={"spec": CLASS.body["spec"] | spec})
    return State("test", ObjectSet([POOL, node_class], is_complete=True))


def scopes(before: State, after: State) -> list[tuple[Scope, str]]:
    """The scopes of the change, with the words of their reasons."""
    return [
        (scope, reason.words)
        for scope in Scope
        for drift in drifts(Change(before, after), scope)
        for reason in drift.reasons
    ]


def test_the_pods_that_do_not_fit_the_new_nodes() -> None:
    def misfits(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
        states = []
        for part in (before, after):
            template = POOL.body["spec"]["template"]
            spec = template["spec"] | {key: value for key, value in part.items() if key != "labels"}
            body = {"spec": {"template": {"metadata": {"labels": part.get("labels", {})}, "spec": spec}}}
            states.append(State("test", ObjectSet([replace(POOL, body=body), CLASS], is_complete=True)))
        found = [drift.misfits for scope in Scope for drift in drifts(Change(states[0], states[1]), scope)]
        return [words for misfits in found for words in misfits]

    taint = {"key": "team", "value": "red", "effect": "NoSchedule"}
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["b"]}
    assert misfits({}, {"taints": [taint]}) == ["do not tolerate team=red:NoSchedule"]
    assert misfits({"taints": [taint]}, {"taints": [taint | {"value": "blue"}]}) == [
        "do not tolerate team=blue:NoSchedule"
    ]
    assert misfits({"taints": [taint]}, {}) == []
    assert misfits({}, {"startupTaints": [taint]}) == []
    assert misfits({"taints": [taint]}, {"taints": [taint], "startupTaints": [taint]}) == []
    assert misfits({}, {"taints": [taint | {"effect": "PreferNoSchedule"}]}) == []
    assert misfits({"labels": {"rack": "1"}}, {"labels": {"rack": "2", "row": "3"}}) == ["select rack=1"]
    assert misfits({}, {"requirements": [zone]}) == ["need zones a"]
    racks = {"key": "rack", "operator": "In", "values": ["1", "2"]}
    assert misfits({"labels": {"rack": "1"}}, {"requirements": [racks]}) == []
    assert misfits({"labels": {"rack": "3"}}, {"requirements": [racks]}) == [
        "select rack=3",
        "need label rack 3",
    ]


@pytest.mark.parametrize(
    ("field", "before", "after", "scope", "words"),
    [
        ("amiSelectorTerms", [{"id": "ami-1"}], [{"id": "ami-2"}], Scope.ALL, "image ami-1 -> ami-2"),
        ("amiSelectorTerms", [{"id": "ami-1"}], [{"id": "ami-1"}, {"id": "ami-2"}], Scope.UNKNOWN, "ami-1, ami-2"),
        ("amiSelectorTerms", [{"alias": "al2023@v1"}], [{"alias": "al2023@latest"}], Scope.UNKNOWN, "al2023@latest"),
        ("amiSelectorTerms", [{"name": "a"}], [{"name": "b"}], Scope.UNKNOWN, '{"name": "b"}'),
        ("subnetSelectorTerms", [{"id": "s-1"}], [{"id": "s-2"}], Scope.ALL, "subnets without s-1"),
        ("subnetSelectorTerms", [{"id": "s-1"}, {"id": "s-2"}], [{"id": "s-2"}], Scope.SOME, "subnets without s-1"),
        ("subnetSelectorTerms", [{"tags": {"a": "b"}}], [{"id": "s-2"}], Scope.UNKNOWN, "another selector of subnets"),
        ("securityGroupSelectorTerms", [{"name": "a"}], [{"name": "b"}], Scope.UNKNOWN, "all nodes match"),
        ("securityGroupSelectorTerms", [{"id": "g-1"}], [{"id": "g-1"}, {"id": "g-2"}], Scope.ALL, "g-1, g-2"),
        ("capacityReservationSelectorTerms", [{"id": "cr-1"}], [{"id": "cr-2"}], Scope.SOME, "without cr-1"),
    ],
)  # fmt: skip
def test_the_selectors_of_a_node_class(field: str, before: Any, after: Any, scope: Scope, words: str) -> None:
    ((found, text),) = scopes(state({field: before}), state({field: after}))
    assert found is scope
    assert words in text


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        ("amiSelectorTerms", [{"id": "ami-1"}, {"id": "ami-2"}], [{"id": "ami-2"}, {"id": "ami-1"}]),
        ("subnetSelectorTerms", [{"id": "s-1"}], [{"id": "s-1"}, {"id": "s-2"}]),
        ("subnetSelectorTerms", [{"tags": {"a": "b"}}], [{"id": "s-2"}, {"tags": {"a": "b"}}]),
        ("securityGroupSelectorTerms", [{"id": "g-1"}, {"id": "g-2"}], [{"id": "g-2"}, {"id": "g-1"}]),
        ("capacityReservationSelectorTerms", [{"id": "cr-1"}], [{"id": "cr-1"}, {"id": "cr-2"}]),
    ],
)
def test_more_resources_and_another_order_replace_no_node(field: str, before: Any, after: Any) -> None:
    assert scopes(state({field: before}), state({field: after})) == []


ZONE, TYPE, RACK = "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type", "example.com/rack"
GENERATION = "karpenter.k8s.aws/instance-generation"


def row(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # All nodes are in one of the zones.
        ([row(ZONE, "In", "a", "b")], [row(ZONE, "NotIn", "c")], []),
        ([row(ZONE, "In", "a", "b")], [row(ZONE, "Exists")], []),
        ([row(ZONE, "In", "a", "b")], [row(ZONE, "NotIn", "a")], [(Scope.SOME, "zones NotIn a")]),
        ([row(ZONE, "In", "a")], [row(ZONE, "DoesNotExist")], [(Scope.ALL, "zones DoesNotExist")]),
        ([], [row(ZONE, "In", "a")], [(Scope.UNKNOWN, "zones In a")]),
        ([], [row(ZONE, "Exists")], []),
        # No node has a label that no template had.
        ([], [row(RACK, "In", "r1")], [(Scope.ALL, "label example.com/rack In r1")]),
        ([], [row(RACK, "Exists")], [(Scope.ALL, "label example.com/rack Exists")]),
        ([], [row(RACK, "Gt", "3")], [(Scope.ALL, "label example.com/rack Gt 3")]),
        ([], [row(RACK, "NotIn", "r1")], []),
        ([], [row(RACK, "DoesNotExist")], []),
        # A node has one value of a requirement. Without listed values, the pods choose it.
        ([row(RACK, "In", "1", "2")], [row(RACK, "Gt", "1")], [(Scope.SOME, "label example.com/rack Gt 1")]),
        ([row(RACK, "In", "1", "2")], [row(RACK, "Exists")], []),
        ([row(RACK, "Exists")], [row(RACK, "In", "1")], [(Scope.UNKNOWN, "label example.com/rack In 1")]),
        (
            [row(RACK, "NotIn", "1")],
            [row(RACK, "NotIn", "1", "2")],
            [(Scope.UNKNOWN, "label example.com/rack NotIn 1, 2")],
        ),
        ([row(RACK, "NotIn", "1", "2")], [row(RACK, "NotIn", "1")], []),
        ([row(RACK, "Exists")], [row(RACK, "DoesNotExist")], [(Scope.ALL, "label example.com/rack DoesNotExist")]),
        (
            [row(RACK, "Gt", "1"), row(RACK, "Lt", "9")],
            [row(RACK, "Gt", "9")],
            [(Scope.ALL, "label example.com/rack Gt 9")],
        ),
        # The instance types decide their labels.
        ([row(TYPE, "In", "g6.xlarge", "p5.48xlarge")], [row(TYPE, "Exists"), row(GENERATION, "Gt", "4")], []),
        (
            [row(TYPE, "In", "g6.xlarge", "p5.48xlarge")],
            [row(TYPE, "Exists"), row(GENERATION, "In", "5")],
            [(Scope.SOME, f"label {GENERATION} In 5")],
        ),
        ([], [row("kubernetes.io/os", "In", "linux")], []),
        ([], [row("karpenter.sh/capacity-type", "In", "spot")], [(Scope.SOME, "purchase options In spot")]),
    ],
)  # fmt: skip
def test_the_nodes_that_do_not_meet_a_requirement(
    before: list[dict[str, Any]], after: list[dict[str, Any]], expected: list[tuple[Scope, str]]
) -> None:
    states = []
    for requirements in (before, after):
        spec = POOL.body["spec"]["template"]["spec"] | {"requirements": requirements}
        pool = replace(POOL, body={"spec": {"template": {"spec": spec}}})
        states.append(State("test", ObjectSet([pool, CLASS], is_complete=True)))
    assert scopes(*states) == expected


def test_an_alias_of_another_family_changes_the_hash_too() -> None:
    before, after = (
        State("test", ObjectSet([POOL, node_class], is_complete=True))
        for node_class in (_alias("al2023@v1"), _alias("bottlerocket@v1"))
    )
    assert [scope for scope, _ in scopes(before, after)] == [Scope.ALL, Scope.ALL]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"settings": {"clusterCABundle": "a"}}, {"settings": {"clusterCABundle": "b"}}, [Scope.ALL]),
        ({}, {"settings": {"clusterCABundle": "a"}}, [Scope.ALL]),
        ({"settings": {"clusterCABundle": "a"}}, {}, [Scope.ALL]),
        ({}, {"settings": {"clusterCABundle": ""}}, []),
        ({}, {"replicas": 3}, []),
    ],
)
def test_the_certificates_of_the_api_server_are_in_the_hash(
    before: dict[str, Any], after: dict[str, Any], expected: list[Scope]
) -> None:
    states = [
        State(
            "test",
            ObjectSet([POOL, CLASS], is_complete=True),
            values=(Manifest("", (), "", HELM_VALUES, "karpenter", values),),
        )
        for values in (before, after)
    ]
    assert [scope for scope, _ in scopes(*states)] == expected


def _alias(alias: str) -> Manifest:
    return replace(CLASS, body={"spec": {"amiSelectorTerms": [{"alias": alias}]}})


@pytest.mark.parametrize("field", ["taints", "startupTaints"])
def test_the_first_and_the_last_taint_of_a_pool_have_the_same_words_as_others(field: str) -> None:
    taint = {"key": "team", "value": "red", "effect": "NoSchedule"}
    noun = "taint" if field == "taints" else "startup taint"
    pair = Pair(POOL, POOL)
    path = ("spec", "template", "spec", field)
    change = Change(state({}), state({}))
    added, removed = FieldChange(path, MISSING, [taint]), FieldChange(path, [taint], MISSING)
    assert field_words(change, pair, added) == f"{noun} team=red:NoSchedule added"
    assert field_words(change, pair, removed) == f"{noun} team=red:NoSchedule removed"
