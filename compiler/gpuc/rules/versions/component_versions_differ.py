from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.versions.compatibility import release_set


@rule(
    "VER106",
    source="aws/karpenter-provider-aws v1.14.1 website/content/en/docs/upgrading/upgrade-guide.md, CRD Upgrades",
)
def component_versions_differ(cluster: Cluster) -> Findings:
    """The version of a chart differs from the version of the chart with its CRDs.

    The API server removes fields that its CRDs do not have, and refuses values that they do not allow. The controller
    reads and writes fields of its own version.
    """
    versions = cluster.spec.releases.components
    for name, release in cluster.components.items():
        crds = cluster.components.get(release.crds_from)
        if crds is None or crds is release or crds.version == release.version:
            continue
        written = name if name in versions else release.crds_from
        other = release.crds_from if written == name else name
        version = versions[written]
        message = f"{written} is {version} and {other} is {cluster.components[other].version}; expected equal versions"
        related = release_set(cluster)
        if other in versions:
            related = [Related(f"version of {other}", ("spec", "releases", "components", other))]
        yield (
            ("spec", "releases", "components", written),
            message,
            f"set releases.components.{other} to {version}",
            related,
        )
