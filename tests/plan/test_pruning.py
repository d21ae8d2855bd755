"""What Argo CD does with removed objects."""

from __future__ import annotations

from pathlib import Path

from gpuc.plan.change import Change
from gpuc.plan.impact import Impact
from gpuc.plan.planner import plan_cluster
from gpuc.plan.pruning import reason_to_leave
from gpuc.plan.state import no_state
from gpuc.plan.states import state_after
from tests.plan.cases import HEAD, compiled

WITH_ALERTS = """extends: [minimal.yaml]
spec:
  observability: {namespace: monitoring, prometheus: {release: prometheus}, alerts: {team: platform}}
"""
ONE_TENANT = """extends: [minimal.yaml]
spec:
  cloud: {aws: {networkPolicyEngine: vpc-cni, podCidrs: [10.0.0.0/17], endpointCidrs: [10.0.240.0/24]}}
  delivery: {prune: PRUNE}
  tenants:
    red:
      members: {groups: ["oidc:red"], role: edit}
      costCentre: CC-1
      isolation: namespace
      namespaces: {red-main: {podSecurity: baseline}}
"""


def test_objects_of_a_removed_application_stay(tmp_path: Path) -> None:
    change = _change(tmp_path, WITH_ALERTS, "extends: [minimal.yaml]\n")
    rules = list(change.pairs("monitoring.coreos.com", "PrometheusRule"))
    assert rules
    for pair in rules:
        assert "its Application is removed" in reason_to_leave(change, pair.manifest)


def test_objects_of_a_removed_cluster_stay(tmp_path: Path) -> None:
    after = state_after(compiled(tmp_path, HEAD + WITH_ALERTS))
    change = Change(after, no_state("case"))
    assert all("the cluster is removed" in reason_to_leave(change, one) for one in after.objects.manifests)


def test_members_of_the_last_tenant_keep_their_roles(tmp_path: Path) -> None:
    """The Application of all tenants is removed together with the last tenant, so Argo CD deletes no RoleBinding."""
    for prune in ("confirm", "automatic"):
        change = _change(tmp_path / prune, ONE_TENANT.replace("PRUNE", prune), "extends: [minimal.yaml]\n")
        found = [one for one in plan_cluster(change).impacts if one.subject == "tenant red"]
        assert [one.id for one in found if one.id in ("IMP251", "IMP262")] == ["IMP251"]
        assert "keep their access" in _message(found, "IMP251")


def test_members_of_a_tenant_lose_their_roles_if_other_tenants_remain(tmp_path: Path) -> None:
    before = ONE_TENANT.replace("PRUNE", "confirm")
    other = before[before.index("    red:") :].replace("red", "blue")
    change = _change(tmp_path, before + other, before)
    found = [one for one in plan_cluster(change).impacts if one.subject == "tenant blue"]
    assert "members lose access" in _message(found, "IMP251")


def _message(found: list[Impact], identifier: str) -> str:
    return next(one.message for one in found if one.id == identifier)


def _change(folder: Path, before: str, after: str) -> Change:
    states = (
        state_after(compiled(folder / name, HEAD + text)) for name, text in (("before", before), ("after", after))
    )
    return Change(*states)
