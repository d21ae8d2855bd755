"""The paths that a change of a tenant's network opens and closes, in words: exactly the difference of both states."""

from pathlib import Path

import pytest

from gpuc.plan.path_changes import closed, opened
from tests.plan.cases import HEAD, Case, change_of

_PODS = "pods of namespaces red-main, red-train"
_RULE = "{cidr: 10.50.0.0/24, ports: [5432], why: databases}"
_EGRESS = f"{{network: {{egress: [{_RULE}]}}}}"
_NEW = f"{{namespaces: {{red-new: {{podSecurity: baseline}}}}, network: {{egress: [{_RULE}]}}}}"
_HEALTH = "{network: {ingress: [{internet: true, healthChecks: [10.9.2.0/24, %s], ports: [8443], why: API}]}}"


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("before", "after", "opens", "closes"),
    [
        (_EGRESS, _EGRESS.replace("/24", "/23"),
         f"{_PODS} can connect to 10.50.1.0/24 on TCP 5432 (databases)", ""),
        (_EGRESS, _EGRESS.replace("/24", "/25"),
         "", f"{_PODS} can no longer connect to 10.50.0.128/25 on TCP 5432 (databases)"),
        (_EGRESS, _EGRESS.replace("[5432]", "[5432, 5433]"),
         f"{_PODS} can connect to 10.50.0.0/24 on TCP 5433 (databases)", ""),
        (_EGRESS, _EGRESS.replace("[5432]", "[{port: 5432, protocol: UDP}]"),
         f"{_PODS} can connect to 10.50.0.0/24 on UDP 5432 (databases)",
         f"{_PODS} can no longer connect to 10.50.0.0/24 on TCP 5432 (databases)"),
        (_EGRESS, _EGRESS.replace(_RULE, f"{_RULE.replace('/24', '/25')}, {_RULE.replace('0/24', '128/25')}"), "", ""),
        # A tenant without isolation has all paths.
        (_EGRESS, "{isolation: namespace}", "", ""),
        ("{isolation: namespace}", _EGRESS, "", ""),
        # A new namespace has only the paths that not every namespace has.
        (_EGRESS, _NEW, "pods of namespace red-new can connect to 10.50.0.0/24 on TCP 5432 (databases)", ""),
        # S4: other ranges of health checks.
        (_HEALTH % "10.9.1.0/24", _HEALTH % "10.9.3.0/24",
         f"{_PODS} can get connections from 10.9.3.0/24 on TCP 8443 (API)",
         f"{_PODS} can no longer get connections from 10.9.1.0/24 on TCP 8443 (API)"),
    ],
)  # fmt: skip
def test_only_the_difference_opens_or_closes(tmp_path: Path, before: str, after: str, opens: str, closes: str) -> None:
    specs = (f"{HEAD}extends: [training.yaml]\nspec: {{tenants: {{red: {tenant}}}}}\n" for tenant in (before, after))
    change = change_of(tmp_path, Case("paths", *specs))
    assert [[raised.message for raised in paths(change)] for paths in (opened, closed)] == [
        [opens] if opens else [], [closes] if closes else [],
    ]  # fmt: skip
