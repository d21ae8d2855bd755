"""What AppProjects permit: what a change adds, and whether Argo CD deletes a removed object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuc.plan.change import Change
from gpuc.plan.permitted import added, cluster_kinds, destinations, namespaced_kinds, sources
from gpuc.plan.pruning import NOT_PERMITTED, removed_objects
from gpuc.plan.states import state_after
from tests.plan.cases import HEAD, compiled

SPEC = f"{HEAD}extends: [training.yaml]\n"
OBJECT = "apiVersion: v1\nkind: {}\nmetadata: {{name: {}, namespace: monitoring}}\n"
SETTINGS, OTHER = (OBJECT.format("ConfigMap", name) for name in ("settings", "other"))
ACCOUNT = OBJECT.format("ServiceAccount", "reader")


@pytest.mark.parametrize(
    ("removed", "kept", "fate", "is_certain"),
    [(ACCOUNT, SETTINGS, "left", False), (OTHER, SETTINGS, "pruned", True)],
)
def test_the_last_object_of_a_kind_may_stay(
    tmp_path: Path, removed: str, kept: str, fate: str, is_certain: bool
) -> None:
    before = compiled(tmp_path / "before", SPEC, {"0.yaml": kept, "1.yaml": removed})
    after = compiled(tmp_path / "after", SPEC, {"0.yaml": kept})
    (found,) = removed_objects(Change(state_after(before), state_after(after)))
    assert (found.fate, found.is_certain) == (fate, is_certain)
    assert found.reason == ("" if is_certain else NOT_PERMITTED)


SERVICE, ROLE, ALL = (
    {"group": group, "kind": kind}
    for group, kind in (("", "Service"), ("rbac.authorization.k8s.io", "Role"), ("*", "*"))
)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"Whitelist": [SERVICE]}, {"Whitelist": [SERVICE, ROLE]}, [("rbac.authorization.k8s.io", "Role")]),
        ({"Whitelist": [SERVICE, ROLE]}, {"Whitelist": [SERVICE]}, []),
        ({"Whitelist": [ALL]}, {"Whitelist": [ALL, SERVICE]}, []),
        ({}, {"Whitelist": [SERVICE]}, []),
        ({"Whitelist": [SERVICE]}, {}, [("*", "*")]),
        ({"Whitelist": []}, {}, [("*", "*")]),
        ({}, {"Whitelist": []}, []),
        ({"Blacklist": [SERVICE, ROLE]}, {"Blacklist": [SERVICE]}, [("rbac.authorization.k8s.io", "Role")]),
        ({"Blacklist": [SERVICE]}, {"Blacklist": [SERVICE, ROLE]}, []),
        ({"Blacklist": [ALL]}, {"Whitelist": [SERVICE]}, [("", "Service")]),
        ({"Whitelist": [SERVICE], "Blacklist": [ROLE]}, {"Whitelist": [SERVICE]}, []),
    ],
)
def test_namespaced_kinds_that_are_added(
    before: dict[str, Any], after: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    old, new = (
        namespaced_kinds({f"namespaceResource{key}": rows for key, rows in spec.items()}) for spec in (before, after)
    )
    assert list(added(old, new)) == expected


def test_cluster_scoped_kinds_can_have_a_name_and_be_denied() -> None:
    role = {"group": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    named, every = ({"clusterResourceWhitelist": [row]} for row in ({**role, "name": "team-*"}, role))
    denied = {**every, "clusterResourceBlacklist": [role]}
    row = (*role.values(), "team-a")
    assert [cluster_kinds(spec).permits(row) for spec in ({}, named, every, denied)] == [False, True, True, False]
    assert not cluster_kinds(named).permits((*role.values(), "other"))
    assert list(added(cluster_kinds(named), cluster_kinds(every))) == [(*role.values(), "*")]
    assert list(added(cluster_kinds(denied), cluster_kinds(every))) == [(*role.values(), "*")]
    assert not list(added(cluster_kinds(every), cluster_kinds(named)))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["*"], ["*", "!https://bad"], []),
        (["*", "!https://bad"], ["*"], ["https://bad"]),
        (["https://good"], ["https://good", "https://other"], ["https://other"]),
        # An entry with ! permits all other repositories: argo-cd v3.5.1 app_project_types.go, IsSourcePermitted.
        (["https://good"], ["https://good", "!https://bad"], ["*"]),
    ],
)
def test_repositories_that_are_added(before: list[str], after: list[str], expected: list[str]) -> None:
    old, new = (sources({"sourceRepos": urls}) for urls in (before, after))
    assert [url for (url,) in added(old, new)] == expected


@pytest.mark.parametrize(
    ("rows", "server", "namespace", "expected"),
    [
        ([("https://a", "red")], "https://a", "red", True),
        ([("https://a", "red")], "https://b", "red", False),
        ([("*", "*"), ("*", "!kube-system")], "https://a", "kube-system", False),
        ([("*", "*"), ("*", "!kube-system")], "https://a", "red", True),
        ([("*", "test"), ("!https://a", "other")], "https://a", "test", True),
        ([("*", "*"), ("https://a", "!other")], "https://b", "other", True),
        ([("!https://a", "*")], "https://b", "red", True),
    ],
)
def test_destinations_that_are_permitted(
    rows: list[tuple[str, str]], server: str, namespace: str, expected: bool
) -> None:
    spec = {"destinations": [{"server": server, "namespace": other} for server, other in rows]}
    assert destinations(spec).permits((server, namespace)) is expected
