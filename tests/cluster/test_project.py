"""What AppProjects permit, and what a change of an AppProject adds.

The expected values are those of Argo CD v3.5.7: the functions IsSourcePermitted, isDestinationMatched and
IsGroupKindNamePermitted of pkg/apis/application/v1alpha1/app_project_types.go, with gobwas/glob v0.2.3.
"""

from typing import Any

import pytest

from gpuc.cluster.application import Destination
from gpuc.cluster.project import KindName, Project, added_destinations, added_kinds, added_repositories
from gpuc.manifest.manifest import Manifest
from gpuc.spec.platform import OWN_NAME, OWN_SERVER
from tests.tables import table

CASES = table(__file__, "test_project.yaml")

RBAC = "rbac.authorization.k8s.io"
SERVICE, ROLE, ALL = ({"group": group, "kind": kind} for group, kind in (("", "Service"), (RBAC, "Role"), ("*", "*")))


def project(**spec: Any) -> Project:
    return Project(Manifest("", (), "argoproj.io/v1alpha1", "AppProject", "a", {"spec": spec}))


@pytest.mark.parametrize(("patterns", "url", "expected"), CASES["repositories_that_are_permitted"])
def test_repositories_that_are_permitted(patterns: list[str], url: str, expected: bool) -> None:
    assert project(sourceRepos=patterns).permits_repository(url) is expected


@pytest.mark.parametrize(("rows", "expected"), CASES["destinations_that_are_permitted"])
def test_destinations_that_are_permitted(rows: list[tuple[str, str, str]], expected: bool) -> None:
    destinations = [dict(zip(Destination._fields, row, strict=True)) for row in rows]
    found = project(destinations=destinations).permits_destination(Destination("https://a", "prod", "red"))
    assert found is expected


def test_the_cluster_of_argo_cd_has_a_server_and_a_name() -> None:
    rows = ({"server": OWN_SERVER, "namespace": "*"}, {"name": OWN_NAME, "namespace": "*"})
    own = (Destination(OWN_SERVER, "", "red"), Destination("", OWN_NAME, "red"))
    assert all(project(destinations=[row]).permits_destination(destination) for row in rows for destination in own)
    assert not any(project(destinations=[row]).permits_destination(Destination("https://a", "", "")) for row in rows)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"Whitelist": [SERVICE]}, {"Whitelist": [SERVICE, ROLE]}, [(RBAC, "Role")]),
        ({"Whitelist": [SERVICE, ROLE]}, {"Whitelist": [SERVICE]}, []),
        ({"Whitelist": [ALL]}, {"Whitelist": [ALL, SERVICE]}, []),
        ({}, {"Whitelist": [SERVICE]}, []),
        ({"Whitelist": [SERVICE]}, {}, [("*", "*")]),
        ({"Whitelist": []}, {}, [("*", "*")]),
        ({}, {"Whitelist": []}, []),
        ({"Blacklist": [SERVICE, ROLE]}, {"Blacklist": [SERVICE]}, [(RBAC, "Role")]),
        ({"Blacklist": [SERVICE]}, {"Blacklist": [SERVICE, ROLE]}, []),
        ({"Blacklist": [ALL]}, {"Whitelist": [SERVICE]}, [("", "Service")]),
        ({"Whitelist": [SERVICE], "Blacklist": [ROLE]}, {"Whitelist": [SERVICE]}, []),
    ],
)
def test_namespaced_kinds_that_are_added(
    before: dict[str, Any], after: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    old, new = (project(**{f"namespaceResource{key}": rows for key, rows in spec.items()}) for spec in (before, after))
    assert added_kinds(old, new, namespaced=True) == [KindName(*kind) for kind in expected]


def test_cluster_scoped_kinds_can_have_a_name_and_be_denied() -> None:
    role = {"group": RBAC, "kind": "ClusterRole"}
    named, every = (project(clusterResourceWhitelist=[row]) for row in ({**role, "name": "team-*"}, role))
    denied = project(clusterResourceWhitelist=[role], clusterResourceBlacklist=[role])
    kind = KindName(*role.values(), "team-a")
    permitted = [granting.permits_kind(kind, namespaced=False) for granting in (project(), named, every, denied)]
    assert permitted == [False, True, True, False]
    assert not named.permits_kind(KindName(*role.values(), "other"), namespaced=False)
    assert added_kinds(named, every, namespaced=False) == [KindName(*role.values())]
    assert added_kinds(denied, every, namespaced=False) == [KindName(*role.values())]
    assert not added_kinds(every, named, namespaced=False)


def test_a_set_of_signs_has_the_meaning_of_go() -> None:
    others, marks = (project(namespaceResourceWhitelist=[{"group": "", "kind": kind}]) for kind in ("[^P]od", "[!P]od"))
    kinds = [KindName("", kind) for kind in ("Pod", "Tod", "!od")]
    assert [others.permits_kind(kind, namespaced=True) for kind in kinds] == [False, True, True]
    assert [marks.permits_kind(kind, namespaced=True) for kind in kinds] == [True, False, True]


@pytest.mark.parametrize("pattern", ["?", "[!a]"])
def test_a_pattern_of_one_sign_matches_no_sign(pattern: str) -> None:
    every = project(destinations=[{"server": "*", "namespace": pattern}])
    assert [every.permits_destination(Destination("https://a", "", name)) for name in ("", "b", "bb")] == [
        True, True, False,
    ]  # fmt: skip


def test_a_kind_is_not_denied_by_an_exclamation_mark() -> None:
    others = project(namespaceResourceWhitelist=[{"group": "", "kind": "!Service"}])
    assert not others.permits_kind(KindName("", "Pod"), namespaced=True)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["*"], ["*", "!https://bad"], []),
        (["*", "!https://bad"], ["*"], ["https://bad"]),
        (["https://good"], ["https://good", "https://other"], ["https://other"]),
        (["https://good"], ["https://good", "!https://bad"], ["*"]),
    ],
)
def test_repositories_that_are_added(before: list[str], after: list[str], expected: list[str]) -> None:
    old, new = (project(sourceRepos=urls) for urls in (before, after))
    assert added_repositories(old, new) == expected


def test_namespaces_that_are_added() -> None:
    rows = [{"server": OWN_SERVER, "namespace": name} for name in ("red", "!blue", "green")]
    before, after = (project(destinations=some) for some in (rows[:2], rows))
    assert added_destinations(before, after) == []
    assert added_destinations(project(destinations=rows[:1]), project(destinations=rows[::2])) == [
        Destination(OWN_SERVER, "", "green")
    ]
