"""The predicted allocatable resources equal all published figures."""

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
"""Instance type, allocatable CPU in millicores, allocatable memory in MiB.

Source: aws/karpenter-provider-aws v1.14.1 website/content/en/preview/reference/instance-types.md
"""


@pytest.mark.parametrize(("instance", "cpu_milli", "memory_mib"), PUBLISHED)
def test_the_prediction_equals_the_published_figure(instance: str, cpu_milli: int, memory_mib: int) -> None:
    row = load().instance_type(instance)
    assert row is not None
    allocatable = predicted_allocatable(row, load().kubelet, 20 * GIB)
    assert allocatable["cpu"] == cpu_milli
    assert allocatable["memory"] == memory_mib * MIB
    assert allocatable["ephemeral-storage"] == 17 * GIB, "Karpenter's prediction for its default volume of 20Gi"


def test_reserved_system_cpu_reduces_only_cpu() -> None:
    instance = load().instances["p5.48xlarge"]
    plain = predicted_allocatable(instance, load().kubelet, 20 * GIB)
    reserved = predicted_allocatable(instance, load().kubelet, 20 * GIB, system_cpu_milli=1000)
    assert reserved == plain | {"cpu": plain["cpu"] - 1000}
