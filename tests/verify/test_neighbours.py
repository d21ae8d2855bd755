"""Namespaces that are alike: what one of them lacks or says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from compiler.compiled import compiled_spec
from compiler.manifest import Manifest
from compiler.verify.flaw import place
from compiler.verify.neighbours import flaws
from compiler.verify.tree import Tree
from tests.conftest import EXAMPLES, ROOT

Change = Callable[[dict[str, Any]], Any]
Objects = tuple[Manifest, ...]


@pytest.fixture(scope="module")
def prod() -> Objects:
    return compiled_spec(ROOT, "specs/prod-use1.yaml").synced


def told(tree: Objects, *, is_whole: bool = True) -> list[tuple[str, str, str]]:
    found = flaws(Tree(tree, is_whole=is_whole))
    return [(flaw.fault.id, str(flaw.manifest), place(flaw.path)) for flaw in found]


def changed(tree: Objects, kind: str, key: str, change: Change | None) -> Objects:
    """The tree with another spec of one object, without the object where there is no change."""
    namespace, _, name = key.partition("/")
    made = []
    for each in tree:
        if (each.kind, each.namespace, each.name) != (kind, namespace, name):
            made.append(each)
        elif change is not None:
            body = deepcopy(each.body)
            change(body["spec"])
            made.append(replace(each, body=body))
    assert tuple(made) != tree
    return tuple(made)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("is_whole", [True, False])
def test_nothing_is_said_of_our_own_trees(name: str, is_whole: bool) -> None:
    assert told(compiled_spec(ROOT, f"specs/{name}.yaml").synced, is_whole=is_whole) == []


@pytest.mark.parametrize(
    ("name", "change", "at"),
    [
        ("allow-dns", lambda spec: spec["egress"][0]["to"].pop(), "spec.egress[0].to"),
        ("allow-tenant", lambda spec: spec.pop("ingress"), "spec"),
        ("allow-tenant", lambda spec: spec["egress"].append({}), "spec.egress[1]"),
        ("allow-endpoints", lambda spec: spec["egress"][0]["ports"][0].update(port=8443),
         "spec.egress[0].ports[0].port"),
        ("allow-metrics", lambda spec: spec["ingress"][0].pop("from"), "spec.ingress[0]"),
        ("default-deny", lambda spec: spec["podSelector"].update(matchLabels={"a": "b"}),
         "spec.podSelector.matchLabels"),
    ],
)  # fmt: skip
def test_a_policy_unlike_all_others_of_its_name_is_told(prod: Objects, name: str, change: Change, at: str) -> None:
    broken = changed(prod, "NetworkPolicy", f"search-train/{name}", change)
    assert told(broken) == [("NSP002", f"NetworkPolicy search-train/{name}", at)]
    assert told(broken, is_whole=False) == []


@pytest.mark.parametrize("name", ["default-deny", "allow-dns", "allow-tenant", "allow-endpoints"])
def test_a_policy_that_only_one_namespace_lacks_is_told(prod: Objects, name: str) -> None:
    broken = changed(prod, "NetworkPolicy", f"embeddings/{name}", None)
    assert told(broken) == [("NSP004", "Namespace embeddings", "metadata.name")]


def test_what_a_tenant_decides_it_decides_for_all_its_namespaces(prod: Objects) -> None:
    metrics = changed(prod, "NetworkPolicy", "search-train/allow-metrics", None)
    assert told(metrics) == [("NSP004", "Namespace search-train", "metadata.name")]
    assert told(changed(metrics, "NetworkPolicy", "search-serving/allow-metrics", None)) == []
    exception = changed(prod, "NetworkPolicy", "search-train/allow-egress-10-30-0-0-24", None)
    assert told(exception) == [("NSP004", "Namespace search-train", "metadata.name")]


def test_what_listens_where_is_each_tenants_own(prod: Objects) -> None:
    def other_port(spec: dict[str, Any]) -> None:
        spec["ingress"][0]["ports"] = [{"port": 9000, "protocol": "TCP"}]

    assert told(changed(prod, "NetworkPolicy", "embeddings/allow-metrics", other_port)) == []


@pytest.mark.parametrize(
    ("kind", "part", "at"), [("ResourceQuota", "hard", "spec.hard"), ("LimitRange", "limits", "spec.limits[0]")]
)
def test_of_amounts_only_the_names_are_compared(prod: Objects, kind: str, part: str, at: str) -> None:
    def amounts(spec: dict[str, Any]) -> dict[str, Any]:
        held = spec[part]
        found: dict[str, Any] = held if isinstance(held, dict) else held[0]["defaultRequest"]
        return found

    def more(spec: dict[str, Any]) -> None:
        amounts(spec)["pods" if kind == "ResourceQuota" else "cpu"] = "7"

    def fewer(spec: dict[str, Any]) -> None:
        amounts(spec).popitem()

    same = changed(
        prod, kind, "research-lab/gpuc", lambda spec: amounts(spec).update(dict.fromkeys(amounts(spec), "7"))
    )
    assert told(same) == []
    broken = changed(prod, kind, "research-lab/gpuc", fewer)
    ((fault, where, path),) = told(broken)
    assert (fault, where) == ("NSP002", f"{kind} research-lab/gpuc") and path.startswith(at)
    if kind == "ResourceQuota":
        assert told(changed(prod, kind, "research-lab/gpuc", more)) == [("NSP002", where, "spec.hard.pods")]


@pytest.mark.parametrize(("key", "value"), [("environment", "staging"), ("cost-centre", "CC-9")])
def test_a_label_that_others_count_by_is_told_where_it_is_odd(prod: Objects, key: str, value: str) -> None:
    def relabelled(each: Manifest) -> Manifest:
        if (each.kind, each.name) != ("Namespace", "search-train"):
            return each
        return replace(each, labels={**each.labels, f"gpuc.dev/{key}": value})

    broken = tuple(map(relabelled, prod))
    assert told(broken) == [("NSP005", "Namespace search-train", f'metadata.labels["gpuc.dev/{key}"]')]
    assert told(broken, is_whole=False) == []
