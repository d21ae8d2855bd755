"""What a node leaves for pods: every published figure, exactly."""

import pytest

from gpuc.catalog import load
from gpuc.kubernetes.amounts import GIB, MIB
from gpuc.model.node import predicted_allocatable

PUBLISHED = [
    ("g5.12xlarge", 47810, 173400),
    ("g6.12xlarge", 47810, 178933),
    ("g6e.12xlarge", 47810, 360157),
    ("m7i.8xlarge", 31850, 118312),
    ("p4d.24xlarge", 95690, 1082712),
    ("p4de.24xlarge", 95690, 1082712),
    ("p5.48xlarge", 191450, 1938410),
    ("p5en.48xlarge", 191450, 1937332),
    ("p6-b200.48xlarge", 191450, 1937332),
]
"""(instance type, CPU in millicores, memory in MiB) that are left for pods.

Source: aws/karpenter-provider-aws v1.14.1 website/content/en/preview/reference/instance-types.md
"""


@pytest.mark.parametrize(("instance", "cpu_milli", "memory_mib"), PUBLISHED)
def test_the_prediction_equals_the_published_figure(instance: str, cpu_milli: int, memory_mib: int) -> None:
    left = predicted_allocatable(load().instances[instance], load().kubelet, 20 * GIB)
    assert left["cpu"] == cpu_milli
    assert left["memory"] == memory_mib * MIB
    assert left["ephemeral-storage"] == 17 * GIB, "Karpenter's figure for its default volume of 20Gi"


def test_what_the_node_class_reserves_is_gone_from_cpu_alone() -> None:
    instance = load().instances["p5.48xlarge"]
    plain = predicted_allocatable(instance, load().kubelet, 20 * GIB)
    reserved = predicted_allocatable(instance, load().kubelet, 20 * GIB, system_cpu_milli=1000)
    assert reserved == plain | {"cpu": plain["cpu"] - 1000}
