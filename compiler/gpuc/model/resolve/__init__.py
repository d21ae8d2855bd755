"""Converts a ClusterSpec into a Cluster: finds the objects that the spec names, and computes MIG layouts and quotas."""

from collections.abc import Mapping
from types import MappingProxyType

from gpuc.catalog import Catalog
from gpuc.catalog.records import Release
from gpuc.diagnostics.finding import Finding, StageError
from gpuc.diagnostics.unknown import UNKNOWN, elements, known
from gpuc.kubernetes.argocd import argocd_url
from gpuc.model.cluster import SPEC, Cluster
from gpuc.model.resolve.names import unknown
from gpuc.model.resolve.pools import resolve_pools
from gpuc.model.resolve.queues import resolve_cohorts, resolve_queues
from gpuc.model.resolve.tenants import resolve_profiles, resolve_tenants
from gpuc.policy.library import Policy, policies
from gpuc.spec.cluster import ClusterSpec, Spec

ABOUT_QUEUES = ("gpu-queue", "queue-required")
"""The policies that demand a queue. Without queues the ResourceQuotas of the namespaces count all GPUs."""


def resolve(
    cluster_spec: ClusterSpec, file: str, catalog: Catalog, own_policies: Mapping[str, Policy] = MappingProxyType({})
) -> Cluster:
    """Returns the model of the cluster that a spec describes. Policies of the fleet replace policies of gpuc.

    Raises:
        StageError: with a finding for each unknown name, invalid layout and invalid quota.
    """
    cluster, findings = resolve_known(cluster_spec, file, catalog, own_policies)
    if findings:
        raise StageError(findings)
    return cluster


def resolve_known(
    cluster_spec: ClusterSpec, file: str, catalog: Catalog, own_policies: Mapping[str, Policy] | None
) -> tuple[Cluster, list[Finding]]:
    """Returns the model of the cluster as far as gpuc can resolve the spec, and the findings about the rest.

    If gpuc cannot resolve a value of the spec, the model also has no value that depends on it.

    Args:
        own_policies: the policies of the fleet; None if gpuc could not read them.
    """
    spec = cluster_spec.spec
    findings: list[Finding] = []
    components = known(lambda: _components(spec, catalog, findings))
    pools = known(lambda: resolve_pools(spec, components, catalog, findings))
    queues = known(lambda: resolve_queues(spec, pools, findings))
    cohorts = known(lambda: resolve_cohorts(spec, queues, findings))
    profiles = known(lambda: resolve_profiles(spec))
    tenants = known(lambda: resolve_tenants(spec, pools, profiles, queues, cohorts, findings))
    known_policies = dict(sorted({**policies(), **own_policies}.items())) if own_policies is not None else UNKNOWN
    cluster = Cluster(
        name=known(lambda: cluster_spec.metadata.name),
        file=file,
        spec=spec,
        catalog=catalog,
        policies=known(lambda: _policies(spec, known_policies)),
        known_policies=known_policies,
        components=components,
        pools=known(lambda: elements(pools.get(name) for name in spec.pools)),
        profiles=known(lambda: tuple(profiles.values())),
        queues=queues,
        cohorts=cohorts,
        tenants=tenants,
    )
    return cluster, findings


def _policies(spec: Spec, known: Mapping[str, Policy]) -> dict[str, Policy]:
    """Returns the admission policies of the cluster. Empty without the section `policies`."""
    if spec.policies is None:
        return {}
    unused = () if spec.queues else ABOUT_QUEUES
    return {name: policy for name, policy in known.items() if name not in unused}


def _components(spec: Spec, catalog: Catalog, findings: list[Finding]) -> dict[str, Release]:
    """Returns the charts of the release set, with the versions, namespaces and repositories of the spec."""
    from msgspec.structs import replace

    path = (*SPEC, "releases")
    known = catalog.releases.get(spec.releases.set)
    if known is None:
        findings.append(unknown("release set", spec.releases.set, catalog.releases, (*path, "set")))
        return {}
    known = {name: row for name, row in known.items() if row.substrate in ("", spec.cloud.substrate.folder)}
    components = {name: row for name, row in known.items() if not row.optional or name in spec.components}
    for name, version in spec.releases.components.items():
        if name not in known:
            findings.append(unknown("component", name, known, (*path, "components", name), on_key=True))
        elif name in components:
            components[name] = replace(known[name], version=version)
    for name, settings in spec.components.items():
        if name not in known:
            findings.append(unknown("component", name, known, (*SPEC, "components", name), on_key=True))
            continue
        if settings.namespace is not None:
            components[name] = replace(components[name], namespace=settings.namespace)
        if settings.repository is not None:
            components[name] = replace(components[name], repo=argocd_url(settings.repository))
    return components
