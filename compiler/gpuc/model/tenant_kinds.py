"""Kinds of objects that a tenant may not have in manifests/: with these objects it would escape its limits.

Argo CD applies the manifests of a tenant with its own permissions. Objects of these kinds would therefore give a tenant
more than the roles of its members give.
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
