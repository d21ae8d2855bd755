from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule
from gpuc.rules.versions.kubernetes import published_form


@rule("VER103")
def operator_without_images(cluster: Cluster) -> Findings:
    """gpuc does not know the container images that this version of the GPU Operator uses."""
    version = published_form(cluster, "gpu-operator")
    if cluster.gpu_pools and version not in cluster.catalog.operands:
        known = ", ".join(sorted(cluster.catalog.operands))
        message = f"gpuc has no operand images for gpu-operator {version}; expected one of {known}"
        yield Found(("spec", "releases", "components", "gpu-operator"), message)
