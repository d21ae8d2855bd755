from __future__ import annotations

from gpuc.diagnostics.contract import Needs
from gpuc.isolation import access
from gpuc.isolation.access.permissions import FORBIDDEN, OTHER_NAMESPACES, WILDCARD
from gpuc.lint.checks import Findings, check
from gpuc.objects.object_set import ObjectSet


@check(
    *dict.fromkeys((*(row.rule for rows in FORBIDDEN.values() for row in rows), OTHER_NAMESPACES, WILDCARD)),
    needs=Needs.CLUSTER,
)
def findings(objects: ObjectSet) -> Findings:
    """Yields the findings about permissions that a tenant must not have."""
    return access.findings(objects)
