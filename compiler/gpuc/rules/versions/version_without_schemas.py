from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.versions.compatibility import published_form


@rule(
    "VER101",
    Severity.WARNING,
    source="NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/values.yaml, which has no schema",
)
def version_without_schemas(cluster: Cluster) -> Findings:
    """gpuc has no schemas for the version of a component.

    gpuc checks objects and Helm values with the schemas of the release set's version. gpuc does not find keys that your
    version removed or changed. The cluster refuses or ignores such keys.

    Compare your version with the version of the release set before you accept the finding: the values of the chart
    (`helm show values REPOSITORY/CHART --version VERSION` for both versions) for the keys in
    out/CLUSTER/COMPONENT/values.yaml, the CRDs (`helm show crds`, or `helm template` if the templates contain them) for
    the fields of the objects in out/CLUSTER, and the release notes for changed defaults, container images and supported
    Kubernetes versions. Then test the component in a cluster that is not in production.
    """
    released = cluster.catalog.releases[cluster.spec.releases.set]
    for name, version in cluster.spec.releases.components.items():
        known = released[name].version
        if published_form(cluster, name) != known:
            message = f"{name} is {version}; gpuc has schemas for {known}, from release set {cluster.spec.releases.set}"
            if not cluster.is_managed(name):
                message = (
                    f"another team installs {name} {version}; gpuc checked its objects and Helm values with the "
                    f"schemas of {known}, from release set {cluster.spec.releases.set}"
                )
            yield ("spec", "releases", "components", name), message
