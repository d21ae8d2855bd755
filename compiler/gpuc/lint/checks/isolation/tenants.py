"""Checks of the permissions of tenants."""

from gpuc.diagnostics.contract import Needs
from gpuc.isolation import access, dns_egress
from gpuc.isolation.access import Access
from gpuc.isolation.access.permissions import FORBIDDEN, OTHER_NAMESPACES, WILDCARD
from gpuc.isolation.tenancy import labelled_tenancy
from gpuc.kubernetes.api_groups import RBAC
from gpuc.lint.checks import Findings, check
from gpuc.objects.object_set import ObjectSet
from gpuc.rules.tenants.members import group_of_two_tenants, members_of_several

_FORBIDDEN = dict.fromkeys(row.rule for rows in FORBIDDEN.values() for row in rows)
check(*_FORBIDDEN, OTHER_NAMESPACES, WILDCARD, needs=Needs.CLUSTER)(access.findings)
check(dns_egress.NO_DNS)(dns_egress.findings)


@check(group_of_two_tenants.rule, kinds=("Namespace", f"{RBAC}/*"))
def shared_members(objects: ObjectSet) -> Findings:
    """Yields findings about RoleBindings with a user or group of several tenants, if the input is a whole cluster."""
    tenancy = labelled_tenancy(objects)
    if objects.is_complete and tenancy.tenants:
        places = {
            f"{kind.lower()} {name}": {
                tenant: [(("subjects", index, "name"), binding)] for tenant, (binding, index) in tenants.items()
            }
            for (kind, name), tenants in Access(objects, tenancy).members.items()
        }
        yield from (found.on_object(group_of_two_tenants.rule) for found in members_of_several(places))
