from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path
from gpuc.rules.versions.compatibility import numbers


@rule("VER104", source="awslabs/amazon-eks-ami v20260724; catalog, images")
def image_for_other_kubernetes(cluster: Cluster) -> Findings:
    """An AMI family does not support the cluster's Kubernetes version.

    There is no AMI for this version, or the kubelet of the AMI is too old for the API server.
    """
    cluster_version = cluster.spec.kubernetes
    related = [Related(f"Kubernetes {cluster_version}", ("spec", "kubernetes"))]
    for path, pool in {image_path(pool): pool for pool in cluster.pools}.items():
        low, high = pool.image.kubernetes_min, pool.image.kubernetes_max
        if high and numbers(cluster_version) > numbers(high):
            message = (
                f"{pool.image.id} AMIs support Kubernetes up to {high}, but the cluster has version {cluster_version}"
            )
            yield path, message, "", related
        elif low and numbers(cluster_version) < numbers(low):
            message = (
                f"{pool.image.id} AMIs support Kubernetes from {low}, but the cluster has version {cluster_version}"
            )
            yield path, message, "", related
