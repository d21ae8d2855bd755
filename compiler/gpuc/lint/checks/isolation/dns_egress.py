from __future__ import annotations

from gpuc.isolation import dns_egress
from gpuc.lint.checks import Findings, check
from gpuc.objects.object_set import ObjectSet


@check(dns_egress.NO_DNS)
def findings(objects: ObjectSet) -> Findings:
    """Yields the findings about pods whose NetworkPolicies do not allow the DNS servers."""
    return dns_egress.findings(objects)
