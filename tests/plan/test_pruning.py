"""What Argo CD does with removed objects."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change
from gpuc.plan.impact import Impact
from gpuc.plan.planner import plan_cluster
from gpuc.plan.pruning import NOT_PERMITTED, moved_objects, reason_to_leave, removed_objects
from gpuc.plan.state import no_state, state_after
from tests.plan.cases import HEAD, cases, change_between, change_of, compiled

WITH_ALERTS = """extends: [minimal.yaml]
spec:
  observability: {namespace: monitoring, prometheus: {release: prometheus}, alerts: {team: platform}}
"""
ONE_TENANT = """extends: [minimal.yaml]
spec:
  network: {policyEngine: vpc-cni, podCidrs: [10.0.0.0/17], endpointCidrs: [10.0.240.0/24]}
  delivery: {prune: PRUNE}
  tenants:
    red:
      members: {groups: ["oidc:red"], role: edit}
      costCentre: CC-1
      isolation: namespace
      namespaces: {red-main: {podSecurity: baseline}}
"""
DEFINITION = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: monitoring}\n"
OTHER_SETTINGS = SETTINGS.replace("name: settings", "name: other")


def test_a_removed_definition_stays(tmp_path: Path) -> None:
    """Argo CD does not track CustomResourceDefinitions, so it deletes the other objects only."""
    text = "extends: [minimal.yaml]\n"
    old = {"a.yaml": DEFINITION, "b.yaml": SETTINGS, "c.yaml": OTHER_SETTINGS}
    found = list(plan_cluster(change_between(tmp_path, text, text, old, {"c.yaml": OTHER_SETTINGS})).impacts)
    (left,) = (impact for impact in found if impact.id == "IMP502")
    assert "things.example.com stays in the cluster, because Argo CD does not track" in left.message
    assert "deletes all objects of its kind" in left.details[-1]
    assert "things.example.com" not in _message(found, "IMP503")
    assert all(impact.id != "IMP504" for impact in found)


def test_a_definition_moves_without_impact(tmp_path: Path) -> None:
    change = change_between(tmp_path, WITH_ALERTS, WITH_ALERTS)
    definition = Manifest("", (), "apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.com", {})
    settings = Manifest("", (), "v1", "ConfigMap", "settings", {}, namespace="monitoring")
    old, new = (
        replace(
            state,
            objects=state.objects.with_objects(
                replace(manifest, file=f"out/case/{folder}/a.yaml") for manifest in (definition, settings)
            ),
        )
        for state, folder in ((change.before, "monitoring"), (change.after, "karpenter/pools"))
    )
    assert [moved.manifest.kind for moved in moved_objects(Change(old, new))] == ["ConfigMap"]


def test_objects_of_a_removed_application_stay(tmp_path: Path) -> None:
    change = change_between(tmp_path, WITH_ALERTS, "extends: [minimal.yaml]\n")
    rules = list(change.pairs("monitoring.coreos.com", "PrometheusRule"))
    assert rules
    for pair in rules:
        assert "its Application is removed" in reason_to_leave(change, pair.manifest)


def test_objects_of_a_removed_cluster_stay(tmp_path: Path) -> None:
    after = state_after(compiled(tmp_path, HEAD + WITH_ALERTS))
    change = Change(after, no_state("case"))
    assert all("the cluster is removed" in reason_to_leave(change, manifest) for manifest in after.objects.manifests)


def test_members_of_the_last_tenant_keep_their_roles(tmp_path: Path) -> None:
    """The Application of all tenants is removed together with the last tenant, so Argo CD deletes no RoleBinding."""
    for prune in ("confirm", "automatic"):
        change = change_between(tmp_path / prune, ONE_TENANT.replace("PRUNE", prune), "extends: [minimal.yaml]\n")
        found = [impact for impact in plan_cluster(change).impacts if impact.subject == "tenant red"]
        assert [impact.id for impact in found if impact.id in ("IMP251", "IMP262")] == ["IMP251"]
        assert "keep their access" in _message(found, "IMP251")


def test_members_of_a_tenant_lose_their_roles_if_other_tenants_remain(tmp_path: Path) -> None:
    before = ONE_TENANT.replace("PRUNE", "confirm")
    other = before[before.index("    red:") :].replace("red", "blue")
    change = change_between(tmp_path, before + other, before)
    found = [impact for impact in plan_cluster(change).impacts if impact.subject == "tenant blue"]
    assert "members lose access" in _message(found, "IMP251")


def test_objects_of_a_moved_component(tmp_path: Path) -> None:
    """Argo CD deletes them if the Application prunes, and if its AppProject permits the old namespace."""
    change = change_of(tmp_path, next(case for case in cases() if case.name == "delivery/component_moves-1"))
    found = {impact.subject: impact.message for impact in plan_cluster(change).impacts if impact.id == "IMP512"}
    assert "deletes those in gpu-operator" in found["component gpu-operator"]
    assert "leaves those in kueue-system" in found["component kueue"]
    assert "leaves those in reloader" in found["component reloader"]


def test_an_application_of_a_chart_without_values_goes_on_to_sync(tmp_path: Path) -> None:
    before = state_after(compiled(tmp_path, HEAD + WITH_ALERTS))
    (found,) = plan_cluster(Change(before, no_state("case"))).impacts
    assert "Argo CD syncs nothing any more except case-karpenter-crd:" in found.message


def _message(found: list[Impact], identifier: str) -> str:
    return next(impact.message for impact in found if impact.id == identifier)


ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: reader, namespace: monitoring}\n"


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("removed", "fate", "reason"), [(ACCOUNT, "left", NOT_PERMITTED), (OTHER_SETTINGS, "pruned", "")]
)
def test_the_last_object_of_a_kind_may_stay(tmp_path: Path, removed: str, fate: str, reason: str) -> None:
    """The AppProject does not permit the kind of a ServiceAccount any more."""
    text, kept = "extends: [training.yaml]\n", {"0.yaml": SETTINGS}
    (found,) = removed_objects(change_between(tmp_path, text, text, {**kept, "1.yaml": removed}, kept))
    assert (found.fate, found.is_certain, found.reason) == (fate, not reason, reason)


def test_an_application_that_starts_to_prune_deletes_what_was_removed_earlier(tmp_path: Path) -> None:
    (case,) = [case for case in cases() if case.name == "delivery/deletion_protection_changes-3"]
    change = change_of(tmp_path, case)
    impacts = plan_cluster(Change(change.after, change.before)).impacts
    assert [impact.message for impact in impacts if impact.id == "IMP523"] == [
        "from now on, Argo CD also deletes objects that are removed from Git, except those with Prune=false"
    ]
