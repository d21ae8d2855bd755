"""Rules about the versions of components: charts, images and drivers."""

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster, GpuPool
from gpuc.rules import Findings, Found, rule
from gpuc.rules.versions.kubernetes import published_form, release_set


def _versions(cluster: Cluster) -> dict[str, str]:
    """Returns the versions in the spec, without those of optional components that the cluster does not have."""
    versions = cluster.spec.releases.components
    return {name: version for name, version in versions.items() if name in cluster.components}


@rule("VER106")
def component_versions_differ(cluster: Cluster) -> Findings:
    """The version of a chart differs from the version of the chart that installs its CRDs."""
    versions = cluster.spec.releases.components
    for name, release in cluster.components.items():
        crds = cluster.components.get(release.crds_from)
        if crds is None or crds is release or crds.version == release.version:
            continue
        written = name if name in versions else release.crds_from
        other = release.crds_from if written == name else name
        version, path = versions[written], ("spec", "releases", "components")
        message = f"{written} is {version} and {other} is {cluster.components[other].version}; expected equal versions"
        related = release_set(cluster)
        if other in versions:
            related = [Related(f"version of {other}", (*path, other))]
        yield Found((*path, written), message, f"set releases.components.{other} to {version}", related)


@rule("VER107")
def version_in_other_form(cluster: Cluster) -> Findings:
    """The version of a chart has a v, but the published versions have no v, or the other way round."""
    for name, version in _versions(cluster).items():
        published = published_form(cluster, name)
        if version != published:
            form = "with v" if published.startswith("v") else "without v"
            message = f"{name} is {version}; expected {published}, because the versions of {name} are published {form}"
            fix = f"set releases.components.{name} to {published}"
            yield Found(("spec", "releases", "components", name), message, fix)


@rule("VER101", Severity.WARNING)
def version_without_schemas(cluster: Cluster) -> Findings:
    """gpuc has no schemas for the version of a component."""
    released = cluster.catalog.releases[cluster.spec.releases.set]
    for name, version in _versions(cluster).items():
        known = released[name].version
        if published_form(cluster, name) != known:
            message = f"{name} is {version}; gpuc has schemas for {known}, from release set {cluster.spec.releases.set}"
            if not cluster.is_managed(name):
                message = (
                    f"another team installs {name} {version}; gpuc checked its objects and Helm values with the "
                    f"schemas of {known}, from release set {cluster.spec.releases.set}"
                )
            yield Found(("spec", "releases", "components", name), message)


@rule("VER002")
def driver_for_other_gpus(cluster: Cluster) -> Findings:
    """The NVIDIA driver does not support the GPUs of a node pool."""
    for pool in cluster.gpu_pools:
        if pool.image.driver == "operator":
            version = next(filter(None, (release.default_driver for release in cluster.components.values())), "")
            yield from _check_branch(pool, version, "the GPU Operator installs")
        elif not pool.is_own_image:
            families, message = pool.image.unsupported_families, f"the driver of {pool.image.id} AMIs does not support"
            unsupported = [row for row in enumerate(pool.instances) if row[1].family in families]
            for index, instance in unsupported:
                yield Found((*pool.path, "instances", index), f"{message} the GPUs of {instance.type}")
            if not unsupported and pool.image.driver_version:
                yield from _check_branch(pool, pool.image.driver_version, f"{pool.image.id} AMIs have")


def _check_branch(pool: GpuPool, version: str, source: str) -> Findings:
    """Yields a finding if the driver branch of the version is too old or too new for the GPUs of the pool.

    `source` is the start of the sentence that names the origin of the driver, for example "the GPU Operator installs".
    """
    gpu = pool.gpu
    if gpu.confidence == "low" or not version:
        return
    branch, path = int(version.partition(".")[0]), (*pool.path, "instances", 0)
    subject = f"GPU {gpu.name} of node pool {pool.name}"
    if branch < gpu.min_driver_branch:
        yield Found(path, f"{subject} needs a driver of branch {gpu.min_driver_branch} or later; {source} {version}")
    elif gpu.max_driver_branch is not None and branch > gpu.max_driver_branch:
        yield Found(path, f"{subject} needs a driver of branch {gpu.max_driver_branch} or earlier; {source} {version}")
