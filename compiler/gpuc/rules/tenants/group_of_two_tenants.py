from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule

Places = Mapping[str, Mapping[str, Sequence[tuple[Path, Manifest | None]]]]
"""Where a group or user becomes a member of a tenant, by group or user in words, then by tenant."""


@rule("RBA010", Severity.WARNING, source="Kubernetes documentation, RBAC good practices")
def group_of_two_tenants(cluster: Cluster) -> Findings:
    """Several tenants have the same group as a member.

    Users in the group can move data between the tenants, although the network of the tenants is isolated.
    """
    places: dict[str, dict[str, list[tuple[Path, Manifest | None]]]] = {}
    for tenant in cluster.tenants:
        for members in tenant.members:
            for index, group in enumerate(members.spec.groups):
                of_tenant = places.setdefault(f"group {group}", {}).setdefault(tenant.name, [])
                of_tenant.append(((*members.path, "groups", index), None))
    yield from members_of_several(places)


def members_of_several(places: Places) -> Iterator[Found]:
    """Yields a finding at each place of a group or user that is a member of several tenants."""
    for member, tenants in places.items():
        for tenant, own in tenants.items() if len(tenants) > 1 else ():
            others = {other: where for other, where in tenants.items() if other != tenant}
            names = ", ".join(f"tenant {other}" for other in others)
            message = f"{member} is a member of tenant {tenant} and of {names}; expected one tenant"
            related = [Related(f"member of tenant {other}", path) for other in others for path, _ in others[other]]
            for path, manifest in own:
                yield Found(path, message, "", related, manifest=manifest)
