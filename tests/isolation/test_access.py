"""The permissions of tenants: the emitted roles, emitted roles with one mistake, and roles that users write."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpuc.isolation.access import findings
from gpuc.isolation.access.permissions import BUILTIN, FORBIDDEN, Grant
from gpuc.lint.checks.isolation.tenants import shared_members
from gpuc.manifest.manifest import Manifest
from tests.conftest import EXAMPLES
from tests.isolation.cases import complete, namespace, synced, tree, with_changed
from tests.lint.checks.sound import unsound
from tests.tables import table

RBAC = "rbac.authorization.k8s.io"
_TABLE = table(__file__, "access.yaml")
OWN, CLUSTER = (
    [(rule, *permission) for rule, permissions in _TABLE[part].items() for permission in permissions]
    for part in ("own", "cluster")
)
"""Rule, API group, resource and verb."""


def ids(objects: Sequence[Manifest], *, kind: str = "", name: str = "") -> set[str]:
    """Rules at objects of a kind and a name."""
    return {
        finding.rule.id
        for finding in findings(complete(objects))
        if kind in ("", finding.manifest.kind) and name in ("", finding.manifest.name)
    }


def with_rule(
    objects: Sequence[Manifest], role: Manifest, group: str, resource: str, verb: str, **more: Any
) -> list[Manifest]:
    rules = [*role.body["rules"], {"apiGroups": [group], "resources": [resource], "verbs": [verb], **more}]
    return with_changed(objects, role, body={**role.body, "rules": rules})


def roles(objects: Sequence[Manifest]) -> list[Manifest]:
    return [manifest for manifest in objects if manifest.kind == "Role"]


def cluster_wide(subject: dict[str, str], group: str, resource: str, verb: str) -> list[Manifest]:
    rules = [{"apiGroups": [group], "resources": [resource], "verbs": [verb]}]
    binding = {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "more"}, "subjects": [subject]}
    return [
        Manifest("m.yaml", (), f"{RBAC}/v1", "ClusterRole", "more", {"rules": rules}),
        Manifest("m.yaml", (), f"{RBAC}/v1", "ClusterRoleBinding", "more", binding),
    ]


def subject_of(objects: Sequence[Manifest]) -> dict[str, str]:
    found: dict[str, str] = next(manifest for manifest in objects if manifest.kind == "RoleBinding").body["subjects"][0]
    return found


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_grant_nothing_too_much(example: str) -> None:
    assert list(findings(complete(synced(example)))) == []


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize(("fault", "group", "resource", "verb"), OWN)
def test_every_power_is_reported_at_the_rule(example: str, fault: str, group: str, resource: str, verb: str) -> None:
    objects = synced(example)
    for role in roles(objects):
        found = list(findings(complete(with_rule(objects, role, group, resource, verb))))
        places = {
            (finding.rule.id, finding.manifest.namespace, finding.manifest.name, finding.path) for finding in found
        }
        assert places == {(fault, role.namespace, role.name, ("rules", len(role.body["rules"])))}


@pytest.mark.parametrize(("group", "resource", "verb"), _TABLE["fine"])
def test_what_a_tenant_may_have_at_home_is_no_flaw(group: str, resource: str, verb: str) -> None:
    objects = synced("prod-use1")
    for role in roles(objects):
        assert ids(with_rule(objects, role, group, resource, verb)) == set(), role.namespace


@pytest.mark.parametrize(("fault", "group", "resource", "verb"), CLUSTER)
@pytest.mark.parametrize(
    "subject",
    [
        None,
        {"kind": "ServiceAccount", "name": "default", "namespace": "embeddings"},
        {"kind": "Group", "apiGroup": RBAC, "name": "system:serviceaccounts:research-lab"},
        {"kind": "Group", "apiGroup": RBAC, "name": "system:authenticated"},
    ],
    ids=["group", "account", "accounts", "everybody"],
)
def test_powers_over_the_cluster_are_reported_at_the_binding(
    subject: dict[str, str] | None, fault: str, group: str, resource: str, verb: str
) -> None:
    objects = synced("prod-use1")
    more = cluster_wide(subject or subject_of(objects), group, resource, verb)
    found = list(findings(complete([*objects, *more])))
    assert [(finding.rule.id, finding.manifest.kind, finding.path) for finding in found] == [
        (fault, "ClusterRoleBinding", ("subjects", 0))
    ]


def test_what_the_platform_may_do_is_no_flaw() -> None:
    objects = synced("prod-use1")
    for subject in (
        {"kind": "ServiceAccount", "name": "kueue", "namespace": "kueue-system"},
        {"kind": "Group", "apiGroup": RBAC, "name": "oidc:platform-admins"},
        {"kind": "Group", "apiGroup": RBAC, "name": "system:masters"},
        {"kind": "User", "apiGroup": RBAC, "name": "oidc:research"},
    ):
        assert ids([*objects, *cluster_wide(subject, "*", "*", "*")]) == set()


@pytest.mark.parametrize(
    ("role", "faults"),
    [("view", set()), ("edit", {"RBA002"}), ("admin", {"RBA002", "RBA005"}), ("cluster-admin", {"RBA009"}),
     ("kueue-batch-admin-role", {"RBA003"}), ("somebody-elses", set())],
)  # fmt: skip
def test_built_in_roles_are_known(role: str, faults: set[str]) -> None:
    objects = synced("prod-use1")
    for binding in [manifest for manifest in objects if manifest.kind == "RoleBinding"]:
        body = {**binding.body, "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}}
        broken = with_changed(objects, binding, body=body)
        assert ids(broken, kind="RoleBinding", name=binding.name) == faults
        assert {finding.path for finding in findings(complete(broken))} <= {("roleRef", "name")}


def test_what_aggregates_to_a_built_in_role_counts() -> None:
    objects = synced("prod-use1")
    binding = next(manifest for manifest in objects if manifest.kind == "RoleBinding")
    body = {**binding.body, "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}}
    rules = {"rules": [{"apiGroups": [""], "resources": ["limitranges"], "verbs": ["update"]}]}
    for label, faults in (("view", {"RBA001"}), ("edit", set())):
        labels = {f"rbac.authorization.k8s.io/aggregate-to-{label}": "true"}
        more = Manifest("m.yaml", (), f"{RBAC}/v1", "ClusterRole", "more", rules, labels=labels)
        broken = with_changed(objects, binding, body=body)
        assert ids([*broken, more], kind="ClusterRole", name="more") == faults


def test_names_of_objects_bound_a_rule() -> None:
    objects = synced("prod-use1")
    role = roles(objects)[0]
    mine = with_rule(objects, role, "", "resourcequotas", "update", resourceNames=["gpuc"])
    assert ids(mine) == {"RBA001"}
    assert ids(with_rule(objects, role, "", "resourcequotas", "update", resourceNames=["other"])) == set()
    assert ids(with_rule(objects, role, RBAC, "rolebindings", "create", resourceNames=["x"])) == set()


def test_new_network_policies_are_fenced_by_a_constraint_and_changed_ones_are_not() -> None:
    objects = synced("prod-use1")
    role = roles(objects)[0]
    assert ids(with_rule(objects, role, "networking.k8s.io", "networkpolicies", "create")) == set()
    loose = [manifest for manifest in objects if manifest.kind != "GpucNetworkPolicyFence"]
    assert ids(with_rule(loose, role, "networking.k8s.io", "networkpolicies", "create")) == {"RBA002"}
    for verb in ("update", "patch", "delete", "deletecollection"):
        assert ids(with_rule(objects, role, "networking.k8s.io", "networkpolicies", verb)) == {"RBA002"}


@pytest.mark.parametrize("home", ["research-lab", "kube-system"])
def test_a_binding_elsewhere_is_reported_there(home: str) -> None:
    """A binding gives the group of a tenant rights in a namespace of another tenant, or of the platform."""
    objects = synced("prod-use1")
    body = {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "embeddings"}],
    }
    more = Manifest("m.yaml", (), f"{RBAC}/v1", "RoleBinding", "more", body, home)
    assert {"RBA008"} <= ids([*objects, more], kind="RoleBinding", name="more")


def test_a_group_of_two_tenants_is_told_at_both() -> None:
    objects = synced("prod-use1")
    mine = next(row for row in objects if (row.kind, row.namespace) == ("RoleBinding", "embeddings"))
    subjects = [*mine.body["subjects"], {"apiGroup": RBAC, "kind": "Group", "name": "oidc:research"}]
    broken = with_changed(objects, mine, body={**mine.body, "subjects": subjects})
    found = [
        (finding.rule.id, finding.manifest.namespace, finding.path) for finding in shared_members(complete(broken))
    ]
    assert ("RBA010", "embeddings", ("subjects", 1, "name")) in found
    assert {row[0] for row in found} == {"RBA010"}
    assert len(found) == 2
    role = next(role for role in roles(broken) if role.namespace == "research-lab")
    assert ids(with_rule(broken, role, "", "resourcequotas", "update")) == {"RBA001"}


def test_a_tree_without_tenants_is_not_judged() -> None:
    text = f"""{namespace("blue", "b")}---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: devs, namespace: blue}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}}]
"""
    for label, faults in (("team", set()), ("gpuc.dev/tenant", {"RBA002", "RBA005"})):
        found = findings(tree(text.replace("gpuc.dev/tenant", label), is_complete=False))
        assert {finding.rule.id for finding in found} == faults


@pytest.mark.parametrize(
    "value", ["null", "7", "x", "[]", "[[]]", "{}", "[{}]", "[null]", "{a: [1]}", '["*"]', "[[1]]"]
)
def test_no_value_at_any_place_stops_the_judge(value: str) -> None:
    text = namespace("blue", "b") + namespace("red", "r")
    for role in (
        "rules: VALUE", "rules: [VALUE]",
        "rules: [{apiGroups: VALUE, resources: VALUE, verbs: VALUE, resourceNames: VALUE}]",
        "aggregationRule: VALUE", "aggregationRule: {clusterRoleSelectors: [VALUE]}",
    ):  # fmt: skip
        for binding in (
            "{roleRef: VALUE, subjects: VALUE}", "{roleRef: {name: r, kind: ClusterRole}, subjects: [VALUE]}",
            "{roleRef: {name: VALUE, kind: VALUE}, subjects: [{kind: Group, name: g}]}",
            "{roleRef: {name: r, kind: ClusterRole}, subjects: [{kind: VALUE, name: VALUE, namespace: VALUE}]}",
            "{roleRef: {name: r, kind: ClusterRole}, subjects: [{kind: ServiceAccount, name: a, namespace: VALUE}]}",
            "{roleRef: {name: r, kind: ClusterRole}, subjects: [{kind: Group, name: g}]}",
        ):  # fmt: skip
            one = f"---\napiVersion: {RBAC}/v1\nkind: ClusterRole\nmetadata: {{name: r, labels: {value}}}\n{role}\n"
            other = binding[1:-1].replace(", subjects", "\nsubjects")
            other = f"---\napiVersion: {RBAC}/v1\nkind: RoleBinding\nmetadata: {{name: b, namespace: blue}}\n{other}\n"
            for is_complete in (True, False):
                made = tree(text + (one + other).replace("VALUE", value), is_complete=is_complete)
                assert unsound(findings(made), made.manifests) == []


def test_the_built_in_roles_are_those_of_kubernetes(shared: Path) -> None:
    """If the sources of Kubernetes are installed, each built-in role has the same rules as in the sources."""
    import yaml

    found = sorted(Path.home().glob("go/pkg/mod/k8s.io/kubernetes@v1.35.*/plugin/pkg/auth/authorizer/rbac"))
    if not found:
        pytest.skip("the sources of Kubernetes v1.35 are not in the module cache of Go")
    file = found[-1] / "bootstrappolicy/testdata/cluster-roles.yaml"
    rules = {
        role["metadata"]["name"]: [
            Grant(tuple(rule["apiGroups"]), tuple(rule["resources"]), frozenset(rule["verbs"]))
            for rule in role.get("rules") or ()
            if "apiGroups" in rule
        ]
        for role in yaml.safe_load(file.read_text(encoding="utf-8"))["items"]
    }
    view = rules["system:aggregate-to-view"]
    edit = view + rules["system:aggregate-to-edit"]
    for name, real in (("view", view), ("edit", edit), ("admin", edit + rules["system:aggregate-to-admin"])):
        assert rights(BUILTIN[name]) == rights(real), name
    assert rights(BUILTIN["cluster-admin"]) == rights(rules["cluster-admin"])


def rights(grants: Sequence[Grant]) -> set[tuple[str, str, str]]:
    """Returns API group, resource and verb of each permission, without the API group that no API server serves."""
    return {
        (group, resource, verb)
        for grant in grants
        for group in grant.groups
        for resource in grant.resources
        for verb in grant.verbs
        if group != "extensions"
    }


def test_every_power_has_verbs() -> None:
    assert all(power.verbs for permissions in FORBIDDEN.values() for power in permissions)
