"""Finds the instance types of pools in the catalog."""

from gpuc.catalog import Catalog
from gpuc.catalog.records import InstanceType
from gpuc.diagnostics.finding import Finding, Path
from gpuc.model.substrate import Substrate
from gpuc.spec.pools import Pool as PoolSpec


def resolve_instances(
    pool_spec: PoolSpec, path: Path, substrate: Substrate, catalog: Catalog, findings: list[Finding]
) -> tuple[InstanceType, ...]:
    """Returns the instance types of a pool. For an unknown or unsupported type, adds a finding to `findings`."""
    instances = []
    for index, name in enumerate(pool_spec.instances):
        finding = substrate.refused_type(name, (*path, "instances", index), catalog)
        instance = catalog.instance_type(name)
        if finding is not None:
            findings.append(finding)
        elif instance is not None:
            instances.append(instance)
    return tuple(instances)
