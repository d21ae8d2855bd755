"""The predicted allocatable resources equal all published figures."""

import pytest

from gpuc.catalog import load
from gpuc.cluster.node_allocatable import predicted_allocatable
from gpuc.kubernetes.amounts import GIB, MIB

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


@pytest.mark.parametrize(
    ("disk_bytes", "expected"), [(107 * GIB, 102_327_595_827), (8 * 3840 * 10**9, 27_646_926_258_176)]
)
def test_ephemeral_storage_is_not_rounded(disk_bytes: int, expected: int) -> None:
    instance = load().instances["p5.48xlarge"]
    assert predicted_allocatable(instance, load().kubelet, disk_bytes)["ephemeral-storage"] == expected


@pytest.mark.parametrize(
    ("settings", "resource", "less"),
    [
        ({"systemReserved": {"cpu": "1000m"}}, "cpu", 1000),
        ({"kubeReserved": {"ephemeral-storage": "3Gi"}}, "ephemeral-storage", 2 * GIB),
        ({"maxPods": 200}, "memory", 11 * 100 * MIB),
        ({"evictionHard": {"memory.available": "300Mi"}}, "memory", 200 * MIB),
        ({"evictionHard": {"nodefs.available": "15%"}}, "ephemeral-storage", GIB),
        ({"evictionHard": {"nodefs.available": "100%"}}, "ephemeral-storage", -2 * GIB),
    ],
)
def test_a_setting_of_the_kubelet_changes_only_its_resource(
    settings: dict[str, object], resource: str, less: int
) -> None:
    """With 100%, the kubelet ignores an eviction threshold."""
    instance = load().instances["p5.48xlarge"]
    plain = predicted_allocatable(instance, load().kubelet, 20 * GIB)
    assert predicted_allocatable(instance, load().kubelet, 20 * GIB, settings) == plain | {
        resource: plain[resource] - less
    }
