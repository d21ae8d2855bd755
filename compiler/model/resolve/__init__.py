"""ClusterSpec and catalog to Cluster: every name found, every layout placed, every quota a vector."""

from __future__ import annotations

from compiler.catalog import Catalog
from compiler.catalog.records import Component
from compiler.finding import Finding, Stop
from compiler.model.cluster import SPEC, Cluster
from compiler.model.resolve.names import unknown
from compiler.model.resolve.pools import resolve_pools
from compiler.model.resolve.queues import resolve_cohorts, resolve_queues
from compiler.model.resolve.tenants import resolve_profiles, resolve_tenants
from compiler.spec.cluster import ClusterSpec, Spec


def resolve(wanted: ClusterSpec, file: str, catalog: Catalog) -> Cluster:
    """The cluster that a spec means.

    Raises:
        Stop: with a finding per name that does not resolve, layout that does not fit, or quota that has no meaning.
    """
    spec = wanted.spec
    findings: list[Finding] = []
    components = _components(spec, catalog, findings)
    pools = resolve_pools(spec, components, catalog, findings)
    queues = resolve_queues(spec, pools, findings)
    cohorts = resolve_cohorts(spec, queues, findings)
    profiles = resolve_profiles(spec)
    tenants = resolve_tenants(spec, profiles, queues, cohorts, findings)
    if findings:
        raise Stop(findings)
    return Cluster(
        wanted.metadata.name, file, spec, catalog, components, tuple(pools.values()), tuple(profiles.values()), queues,
        cohorts, tenants,
    )  # fmt: skip


def _components(spec: Spec, catalog: Catalog, findings: list[Finding]) -> dict[str, Component]:
    """The charts of the release set, with the versions that the spec overrides."""
    from dataclasses import replace

    path = (*SPEC, "releases")
    known = catalog.releases.get(spec.releases.set)
    if known is None:
        findings.append(unknown("release set", spec.releases.set, catalog.releases, (*path, "set")))
        return {}
    components = dict(known)
    for name, version in spec.releases.components.items():
        if name not in known:
            findings.append(unknown("component", name, known, (*path, "components", name), on_key=True))
        else:
            components[name] = replace(known[name], version=version)
    return components
