"""The kinds of objects that a tenant may not have in manifests/, because objects of these kinds bypass its limits.

Argo CD applies the manifests of a tenant with the permissions of Argo CD. So without this list, the manifests could
give the tenant more rights than its members have.
"""

from gpuc.catalog.annotations import traffic_kinds
from gpuc.manifest.manifest import Kind
from gpuc.objects.other_policies import KINDS, WITH_NAMESPACE
from gpuc.objects.symbol_table import kind_of
from gpuc.parts.folders import table_beside

DENIED_KINDS: dict[Kind, str] = {
    (group, kind): "it can allow connections to other tenants"
    for group, kinds in KINDS.items()
    for kind in kinds
    if kind in WITH_NAMESPACE
} | {
    kind_of(kind): reason
    for reason, kinds in (
        *table_beside(__file__).items(),
        ("it can receive or forward traffic that the spec does not grant (exposed)", traffic_kinds()),
    )
    for kind in kinds
}
"""The reasons by API group and kind. All kinds are namespaced."""
