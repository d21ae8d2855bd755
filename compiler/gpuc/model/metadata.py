"""The maps of the spec that have labels and annotations for objects."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.model.cluster import SPEC, Cluster
from gpuc.spec.cluster import Spec
from gpuc.spec.pools import Pool
from gpuc.spec.tenants import Tenant

Section = Spec | Pool | Tenant
"""A map of the spec with the keys `labels` and `annotations`."""


def metadata_sections(cluster: Cluster) -> dict[Path, Section]:
    """Returns the cluster, the pools and the tenants, by path in the spec."""
    sections: dict[Path, Section] = {SPEC: cluster.spec}
    sections |= {pool.path: pool.spec for pool in cluster.pools}
    return sections | {tenant.path: tenant.spec for tenant in cluster.tenants}
