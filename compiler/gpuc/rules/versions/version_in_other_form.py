from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.versions.compatibility import published_form


@rule("VER107", source="catalog, releases: the versions of the charts of all components")
def version_in_other_form(cluster: Cluster) -> Findings:
    """A version has another form than the published versions of the chart.

    Some projects publish charts with versions such as v26.7.0, others with versions such as 1.14.1. Argo CD finds no
    chart with the other form in an OCI registry, and gpuc has no tables of the version.
    """
    for name, version in cluster.spec.releases.components.items():
        published = published_form(cluster, name)
        if version != published:
            form = "with v" if published.startswith("v") else "without v"
            message = f"{name} is {version}; expected {published}, because the versions of {name} are published {form}"
            yield ("spec", "releases", "components", name), message, f"set releases.components.{name} to {published}"
