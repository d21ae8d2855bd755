"""EKS with Karpenter as a substrate, the place where a cluster lives: instance types, zones, images and nodes."""

from gpuc.catalog import Catalog
from gpuc.catalog.records import Image, InstanceType
from gpuc.diagnostics.finding import Path
from gpuc.model.substrate import Nodes, Substrate
from gpuc.spec.cluster import Spec
from gpuc.spec.pools import Pool as PoolSpec
from gpuc.substrates.eks.instance_types import refused_type
from gpuc.substrates.eks.pool_section import EksPool
from gpuc.substrates.eks.pool_section import Image as ImageSpec
from gpuc.substrates.eks.scaling import EksScaling
from gpuc.substrates.eks.section import SECTIONS, Aws

_PATH: Path = ("spec", "cloud", SECTIONS.name)
AGENT_ADDRESS = "169.254.170.23/32"
"""Address of the EKS Pod Identity agent, which provides credentials to pods. No policy allows the instance metadata
service (169.254.169.254), because it provides the credentials of the node."""


def _nodes(spec: Spec, name: str, pool: PoolSpec, instances: tuple[InstanceType, ...], catalog: Catalog) -> Nodes:
    aws, section = _aws(spec), getattr(pool, SECTIONS.pool_key)
    assert isinstance(section, EksPool)
    image, ami = _image(section.image or aws.image, catalog)
    zones = tuple(section.zones or aws.zones)
    path: Path = ("spec", "pools", name, SECTIONS.pool_key)
    image_path: Path = (*(path if section.image else _PATH), "image")
    scaling = EksScaling(
        pool=pool,
        name=name,
        path=path,
        spec=section,
        instances=instances,
        image=image,
        ami=ami,
        zones=zones,
        kubelet=catalog.kubelet,
    )
    return Nodes(
        image=image,
        own_user_data=section.user_data or aws.user_data or "",
        is_own_image=ami.startswith("ami-"),
        image_path=image_path,
        zones=zones,
        allocatable_of=scaling.allocatable,
        scaling=scaling,
    )


def _aws(spec: Spec) -> Aws:
    section = spec.cloud.section
    assert isinstance(section, Aws)
    return section


def _image(image_spec: ImageSpec, catalog: Catalog) -> tuple[Image, str]:
    if image_spec.alias:
        return catalog.images[image_spec.alias.split("@")[0]], image_spec.alias
    assert image_spec.family is not None and image_spec.id is not None, "the spec has an alias, or family and id"
    return catalog.images[image_spec.family.lower()], image_spec.id


def _service_range(spec: Spec) -> str:
    command = f"aws eks describe-cluster --name {_aws(spec).eks_cluster}"
    return f"the output of {command} --query cluster.kubernetesNetworkConfig.serviceIpv4Cidr"


SUBSTRATE = Substrate(
    sections=SECTIONS,
    nodes=_nodes,
    region=lambda spec: _aws(spec).region,
    zones=lambda spec: tuple(_aws(spec).zones),
    identity=lambda spec: (_aws(spec).region, _aws(spec).eks_cluster),
    service_range=_service_range,
    node_services={"allow-pod-identity": AGENT_ADDRESS},
    refused_type=refused_type,
    levels=("zone", "block", "host"),
    policy_engines=("vpc-cni", "cilium", "none"),
    endpoint_ranges=lambda spec: (((*_PATH, "s3GatewayCidrs"), _aws(spec).s3_gateway_cidrs),),
)
