"""The paths that a change of a tenant's network opens and closes, in words: exactly the difference of both states."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc.plan.path_changes import closed, opened
from tests.plan.cases import HEAD, Case, change_of

_RULE = "{cidr: 10.50.0.0/24, ports: [5432], why: databases}"


def _paths(folder: Path, before: str, after: str) -> tuple[list[str], list[str]]:
    """The opened and the closed paths between two specs of the tenant red."""
    specs = [f"{HEAD}extends: [training.yaml]\nspec: {{tenants: {{red: {tenant}}}}}\n" for tenant in (before, after)]
    change = change_of(folder, Case("paths", *specs))
    return [raised.message for raised in opened(change)], [raised.message for raised in closed(change)]


def _egress(rules: str) -> str:
    return f"{{network: {{egress: [{rules}]}}}}"


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("rules", "opens", "closes"),
    [
        ("{cidr: 10.50.0.0/23, ports: [5432], why: databases}", ["10.50.1.0/24 on TCP 5432"], []),
        ("{cidr: 10.50.0.0/25, ports: [5432], why: databases}", [], ["10.50.0.128/25 on TCP 5432"]),
        ("{cidr: 10.50.0.0/24, ports: [5432, 5433], why: databases}", ["10.50.0.0/24 on TCP 5433"], []),
        ("{cidr: 10.50.0.0/24, ports: [{port: 5432, protocol: UDP}], why: databases}",
         ["10.50.0.0/24 on UDP 5432"], ["10.50.0.0/24 on TCP 5432"]),
        ("{cidr: 10.50.0.0/25, ports: [5432], why: databases}, {cidr: 10.50.0.128/25, ports: [5432], why: databases}",
         [], []),
    ],
)  # fmt: skip
def test_only_the_difference_of_a_rule_opens_or_closes(
    tmp_path: Path, rules: str, opens: list[str], closes: list[str]
) -> None:
    pods = "pods of namespaces red-main, red-train"
    found = _paths(tmp_path, _egress(_RULE), _egress(rules))
    assert found == (
        [f"{pods} can connect to {peer} (databases)" for peer in opens],
        [f"{pods} can no longer connect to {peer} (databases)" for peer in closes],
    )


def test_a_tenant_without_isolation_loses_no_path(tmp_path: Path) -> None:
    assert _paths(tmp_path, _egress(_RULE), "{isolation: namespace}") == ([], [])


def test_a_tenant_that_gets_isolation_gains_no_path(tmp_path: Path) -> None:
    assert _paths(tmp_path, "{isolation: namespace}", _egress(_RULE)) == ([], [])


def test_a_new_namespace_has_only_the_paths_that_not_every_namespace_has(tmp_path: Path) -> None:
    new = "namespaces: {red-new: {podSecurity: baseline}}"
    before = "{network: {egress: [%s]}}"
    after = f"{{{new}, network: {{egress: [%s]}}}}"
    opened_paths, closed_paths = _paths(tmp_path, before % _RULE, after % _RULE)
    assert opened_paths == ["pods of namespace red-new can connect to 10.50.0.0/24 on TCP 5432 (databases)"]
    assert closed_paths == []


def test_s4_other_ranges_of_health_checks_open_and_close_paths(tmp_path: Path) -> None:
    entry = "{network: {ingress: [{internet: true, healthChecks: [%s], ports: [8443], why: API}]}}"
    opened_paths, closed_paths = _paths(
        tmp_path, entry % "10.9.1.0/24, 10.9.2.0/24", entry % "10.9.2.0/24, 10.9.3.0/24"
    )
    pods = "pods of namespaces red-main, red-train"
    assert opened_paths == [f"{pods} can get connections from 10.9.3.0/24 on TCP 8443 (API)"]
    assert closed_paths == [f"{pods} can no longer get connections from 10.9.1.0/24 on TCP 8443 (API)"]
