"""Rules about the versions of Kubernetes that components and AMIs support."""

import re

from gpuc.catalog.schemas import builtin_versions
from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule

Numbers = tuple[int, ...]


def numbers(version: str) -> Numbers:
    """Returns the numbers of a version, for example (26, 7, 0) for v26.7.0."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def published_form(cluster: Cluster, name: str) -> str:
    """Returns the version of a component as its project publishes versions: with v (v1.2.0), or without v (1.2.0)."""
    digits = cluster.components[name].version.removeprefix("v")
    has_v = cluster.catalog.releases[cluster.spec.releases.set][name].version.startswith("v")
    return f"v{digits}" if has_v else digits


def incompatible_components(cluster: Cluster, *, certain: bool) -> Findings:
    """Yields findings for components that do not support the cluster's Kubernetes version.

    gpuc has schemas of some Kubernetes versions; another rule reports a version without schemas. With `certain`, the
    function uses only facts of the catalog with high confidence; otherwise only those with low confidence.
    """
    cluster_version, kubernetes = cluster.spec.kubernetes, ("spec", "kubernetes")
    if cluster_version not in builtin_versions():
        return
    sentences = [*_unsupported(cluster, cluster_version, certain)]
    if sentences:
        known = supported_versions(cluster)
        actual = f"the Kubernetes version is {cluster_version}, but {', '.join(sentences)}"
        expected = f"; expected one of {', '.join(known)}" if known else ""
        test = "" if certain else f", or test the components with {cluster_version} and add VER102 to accept"
        fix = f"upgrade the cluster to {known[0]} and set kubernetes to {known[0]}{test}" if known else ""
        yield Found(kubernetes, actual + expected, fix, release_set(cluster))
    row = cluster.catalog.kubernetes.get(cluster_version)
    if row and certain == (row.confidence != "low"):
        for name, least in row.minimum.items():
            if name not in cluster.components:
                continue
            version = cluster.components[name].version
            if numbers(version) < numbers(least):
                is_overridden = name in cluster.spec.releases.components
                override: Path = ("spec", "releases", "components", name)
                message = f"{name} {version} is too old for Kubernetes {cluster_version}, which needs {least} or later"
                related = [Related(f"Kubernetes {cluster_version}", kubernetes)]
                yield Found(override if is_overridden else kubernetes, message, related=related)


def release_set(cluster: Cluster) -> list[Related]:
    """Returns, for a finding, the path of `releases` in the spec, which selects the versions of all components."""
    message = f"release set {cluster.spec.releases.set}: the versions of the components"
    return [Related(message, ("spec", "releases"), on_key=True)]


def supported_versions(cluster: Cluster) -> list[str]:
    """Returns the Kubernetes versions that gpuc has schemas for and that all components of the cluster support."""
    return [
        version
        for version in builtin_versions()
        if not any(_unsupported(cluster, version, certain) for certain in (True, False))
    ]


def _unsupported(cluster: Cluster, kubernetes: str, certain: bool) -> list[str]:
    """Returns a sentence for each component whose supported Kubernetes versions do not include a version."""
    sentences = []
    released_components = cluster.catalog.releases[cluster.spec.releases.set]
    for name, component in cluster.components.items():
        released = released_components[name]
        low, high = released.kubernetes_min, released.kubernetes_max
        # The catalog has no range for an overridden version.
        if component.version != released.version or certain != (released.confidence != "low"):
            continue
        if (low and numbers(kubernetes) < numbers(low)) or (high and numbers(kubernetes) > numbers(high)):
            bounds = f"{low or 'any'} to {high}" if high else f"{low} and later"
            sentences.append(f"{name} {released.version} supports {bounds}")
    return sentences


@rule("KRP022")
def kubernetes_out_of_range(cluster: Cluster) -> Findings:
    """A component does not run on the cluster's Kubernetes version."""
    yield from incompatible_components(cluster, certain=True)


@rule("VER102", Severity.WARNING)
def kubernetes_possibly_out_of_range(cluster: Cluster) -> Findings:
    """A component possibly does not support the cluster's Kubernetes version."""
    yield from incompatible_components(cluster, certain=False)


@rule("VER104")
def image_for_other_kubernetes(cluster: Cluster) -> Findings:
    """An AMI family does not support the cluster's Kubernetes version."""
    cluster_version = cluster.spec.kubernetes
    related = [Related(f"Kubernetes {cluster_version}", ("spec", "kubernetes"))]
    for path, pool in {pool.image_path: pool for pool in cluster.pools}.items():
        low, high = pool.image.kubernetes_min, pool.image.kubernetes_max
        is_too_new = high and numbers(cluster_version) > numbers(high)
        if is_too_new or (low and numbers(cluster_version) < numbers(low)):
            actual = f"{pool.image.id} AMIs support Kubernetes {f'up to {high}' if is_too_new else f'from {low}'}"
            yield Found(path, f"{actual}, but the cluster has version {cluster_version}", related=related)


@rule("VER105")
def kubernetes_without_schemas(cluster: Cluster) -> Findings:
    """gpuc does not support the cluster's Kubernetes version."""
    if cluster.spec.kubernetes not in builtin_versions():
        known = ", ".join(supported_versions(cluster))
        message = f"gpuc does not support Kubernetes {cluster.spec.kubernetes}; expected one of {known}"
        yield Found(("spec", "kubernetes"), message)
