"""Constraints match all tenant namespaces and no platform namespaces."""

from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.policy.library import policies
from tests.conftest import EXAMPLES
from tests.conftest import compiled_example as spec

every_cluster = pytest.mark.parametrize("name", EXAMPLES)
BY_KIND = {policy.kind: policy for policy in policies().values()}
NAME = "kubernetes.io/metadata.name"


def constraints(name: str) -> list[Manifest]:
    return [manifest for manifest in spec(name).synced if manifest.api.startswith("constraints.gatekeeper.sh/")]


def labels(name: str) -> dict[str, dict[str, str]]:
    """Returns the labels of namespaces that gpuc emits, or that Applications or charts create."""
    made = {
        manifest.name: {NAME: manifest.name, **manifest.labels}
        for manifest in spec(name).synced
        if manifest.kind == "Namespace"
    }
    for manifest in spec(name).synced:
        if manifest.kind == "Application":
            made.setdefault(manifest.namespace, {NAME: manifest.namespace})
            managed = manifest.body["spec"].get("syncPolicy", {}).get("managedNamespaceMetadata", {})
            namespace = manifest.body["spec"]["destination"].get("namespace", "")
            if namespace:
                made.setdefault(namespace, {NAME: namespace, **managed.get("labels", {})})
    return made


def selects(constraint: Manifest, of_namespace: dict[str, str]) -> bool:
    match = constraint.body["spec"]["match"]
    selector: Any = match["namespaceSelector"]
    assert selector and match["scope"] == "Namespaced", "an empty selector selects every namespace"
    assert not set(match) - {"scope", "kinds", "namespaceSelector", "source"}, "a matcher that this test does not know"
    wanted: dict[str, str] = selector.get("matchLabels", {})
    rows = selector.get("matchExpressions", [])
    assert {row["operator"] for row in rows} <= {"Exists"}
    return wanted.items() <= of_namespace.items() and all(row["key"] in of_namespace for row in rows)


@every_cluster
def test_the_platforms_namespaces_are_reached_by_no_constraint(name: str) -> None:
    tenants = set(spec(name).cluster.tenant_namespaces)
    platform = {namespace: of for namespace, of in labels(name).items() if namespace not in tenants}
    assert {"argocd", "gatekeeper-system", "gpu-operator", "karpenter", "kueue-system", "monitoring"} <= set(platform)
    platform |= {namespace: {NAME: namespace} for namespace in ("kube-system", "kube-public", "default")}
    for constraint in constraints(name):
        assert [namespace for namespace, of in platform.items() if selects(constraint, of)] == [], constraint.name


@every_cluster
def test_every_tenant_namespace_is_reached_by_each_policy_once(name: str) -> None:
    known = labels(name)
    for namespace in spec(name).cluster.tenant_namespaces:
        reached = [constraint.kind for constraint in constraints(name) if selects(constraint, known[namespace])]
        assert len(reached) == len(set(reached)), namespace
        assert {constraint.kind for constraint in constraints(name)} == set(reached), namespace


@every_cluster
def test_a_constraint_matches_the_kinds_of_its_policy(name: str) -> None:
    for constraint in constraints(name):
        assert constraint.body["spec"]["match"]["kinds"] == list(BY_KIND[constraint.kind].kinds), constraint.name
