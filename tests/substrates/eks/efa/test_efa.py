"""EFA device plugin: tolerations and instance types."""

from gpuc.manifest.manifest import Values
from gpuc.model import Cluster
from gpuc.substrates.eks.efa.component import efa
from tests.conftest import Variant


def test_c13_the_image_comes_from_the_registry_of_the_region(reference: Cluster, variant: Variant) -> None:
    def image(cluster: Cluster) -> str:
        (values,) = efa(cluster)
        assert isinstance(values, Values)
        return str(values.body["image"]["repository"])

    name = "eks/aws-efa-k8s-device-plugin"
    assert image(reference) == f"602401143452.dkr.ecr.us-east-1.amazonaws.com/{name}"
    china = variant(lambda spec: spec["cloud"]["aws"].update(region="cn-north-1"))
    assert image(china) == f"918309763551.dkr.ecr.cn-north-1.amazonaws.com.cn/{name}"
    mirror = variant(lambda spec: spec["cloud"]["aws"].update(addOnRegistry="registry.example.com:5000/aws"))
    assert image(mirror) == f"registry.example.com:5000/aws/{name}"


def test_c13_each_registry_is_in_its_region(reference: Cluster) -> None:
    for region, registry in reference.catalog.eks_registries.items():
        assert registry.host.split(".")[3] == region
