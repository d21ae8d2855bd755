"""How Karpenter replaces nodes, by the limits, budgets and grace period of a NodePool."""

from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.plan.change import Change, PoolPair
from gpuc.plan.state import no_state
from gpuc.substrates.eks.budgets import pace
from gpuc.substrates.eks.replacement import details, replaced_words

POOL = Manifest("", (), "karpenter.sh/v1", "NodePool", "train", {"spec": {"limits": {"cpu": "768", "nodes": "4"}}})
ALWAYS = {"nodes": "1", "reasons": ["Drifted"]}
NIGHT = {"nodes": "0", "schedule": "0 12 * * mon-fri", "duration": "11h"}


def change(before: dict[str, Any], after: dict[str, Any]) -> PoolPair:
    """The NodePool with other fields before and after a change."""
    states = [
        replace(no_state("test"), objects=ObjectSet([replace(POOL, body={"spec": spec})], is_complete=True))
        for spec in (before, after)
    ]
    (found,) = Change(*states).pools
    return found


def pair(**spec: Any) -> PoolPair:
    """The NodePool, and the NodePool with other fields."""
    return change(POOL.body["spec"], POOL.body["spec"] | spec)


def sentences(pair: PoolPair, *misfits: str) -> str:
    return "; ".join(details([pair], Change(no_state("test"), no_state("test")), misfits))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "up to 4 nodes are replaced, 10% at a time"),
        ({"limits": {"cpu": "0", "nodes": "0"}}, "up to 4 nodes drift, and Karpenter replaces none of them"),
        ({"replicas": 4, "limits": {"nodes": "4"}}, "up to 4 nodes drift, and Karpenter replaces none of them"),
        ({"replicas": 4, "limits": {"nodes": "5"}}, "up to 4 nodes are replaced, one at a time"),
        ({"replicas": 4, "limits": {"nodes": "6"}}, "up to 4 nodes are replaced, 10% and at most 2 at a time"),
        ({"replicas": 4, "limits": None}, "up to 4 nodes are replaced, 10% at a time"),
        (
            {"limits": {"cpu": "384", "nodes": "2"}},
            "up to 4 nodes are replaced, 10% at a time, but none while more than 2 nodes run",
        ),
        (
            {"limits": {"cpu": "192", "nodes": "1"}},
            "up to 4 nodes are replaced, 10% at a time, but none while more than 1 node runs",
        ),
        (
            {"limits": {"cpu": "384", "nodes": "4"}},
            "up to 4 nodes are replaced, 10% at a time, but none while the other nodes leave no place in the limit "
            "cpu 384",
        ),
        ({"limits": {"cpu": "1536", "nodes": "8"}}, "up to 4 nodes are replaced, 10% at a time"),
    ],
)
def test_a_limit_without_a_place_for_the_new_node(spec: dict[str, Any], words: str) -> None:
    assert replaced_words("up to 4 nodes", [pair(**spec)], None) == words


def test_a_node_with_pods_that_do_not_fit_stays_except_in_a_static_pool() -> None:
    static = pair(replicas=4, limits={"nodes": "5"})
    condition = "if their pods fit the new nodes"
    assert condition in replaced_words("all nodes", [pair()], None, ["select a=b"])
    assert condition not in replaced_words("all nodes", [pair()], None)
    assert condition not in replaced_words("all nodes", [static], None, ["select a=b"])
    assert "with pods that select a=b stays until" in sentences(pair(), "select a=b")
    assert "with pods that select a=b stays until" not in sentences(static, "select a=b")
    assert "is static: its nodes are replaced also with such pods" in sentences(static, "select a=b")


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        ([ALWAYS], "one at a time"),
        ([{"nodes": "5%"}, {"nodes": "100%", "reasons": ["Empty"]}], "5% at a time"),
        ([{"nodes": "3"}, {"nodes": "2"}], "2 at a time"),
        ([{"nodes": "10%"}, {"nodes": "5"}], "10% and at most 5 at a time"),
        ([{"nodes": "10%"}, {"nodes": "1"}], "one at a time"),
        ([], "all at a time"),
        ([{"nodes": "1", "reasons": ["Empty"]}], "all at a time"),
        ([ALWAYS, NIGHT], "one at a time, outside of 11h from 0 12 * * mon-fri (UTC)"),
        ([ALWAYS, {**NIGHT, "nodes": "50%"}], "one at a time, 50% for 11h from 0 12 * * mon-fri (UTC)"),
        ([{"nodes": "0"}], "none while the budget is 0"),
        ([{"nodes": "0%", "schedule": "@daily", "duration": "24h"}], "none while the budget is 0"),
        ([{"nodes": "2", "schedule": "60 * * * *", "duration": "1h"}], "none while the budget is 0"),
        ([{"nodes": "2", "schedule": "@daily"}], "none while the budget is 0"),
    ],
)
def test_the_pace_of_budgets(budgets: list[dict[str, Any]], words: str) -> None:
    assert pace(pair(disruption={"budgets": budgets}).new, None) == words


def test_the_sentences_name_what_ends_a_node_of_a_pool_without_new_nodes() -> None:
    assert "ends when it is empty" in sentences(pair(limits={"cpu": "0", "nodes": "0"}))
    assert "delete its NodeClaims by hand" in sentences(pair(replicas=4, limits={"nodes": "4"}))
    assert "a new node starts before" in sentences(pair())
    assert "a new node starts before" not in sentences(pair(limits={"cpu": "0", "nodes": "0"}))


def test_a_running_node_keeps_its_grace_period() -> None:
    spec = POOL.body["spec"]
    graceful = spec | {"template": {"spec": {"terminationGracePeriod": "1h"}}}
    assert "drains for at most 1h" in sentences(change(graceful, spec))
    assert "drains for at most" not in sentences(change(spec, graceful))
