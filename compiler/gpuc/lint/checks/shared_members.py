"""Subjects with role bindings in namespaces of several tenants."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.words import short_list
from gpuc.isolation.access.subjects import Access
from gpuc.isolation.tenancy import labelled_tenancy
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields the bindings of subjects that have bindings in namespaces of several tenants, in complete input only."""
    tenancy = labelled_tenancy(objects)
    if not objects.is_complete or not tenancy.tenants:
        return
    for (kind, name), tenants in Access(objects, tenancy).members.items():
        for tenant, (binding, index) in tenants.items() if len(tenants) > 1 else ():
            from gpuc.rules.tenants.group_of_two_tenants import group_of_two_tenants

            message = (
                f"{kind.lower()} {name} is a member of tenant {tenant} and of {short_list(set(tenants) - {tenant})}"
            )
            yield ObjectFinding(group_of_two_tenants.rule, binding, ("subjects", index, "name"), message)
