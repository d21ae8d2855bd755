"""What a node leaves for pods: every published figure, exactly."""

import pytest

from gpuc.catalog import load
from gpuc.catalog.operations import NodeVector
from gpuc.kubernetes.amounts import GIB, MIB
from gpuc.model.node import predicted_allocatable


@pytest.mark.parametrize("vector", load().kubelet.vectors, ids=lambda vector: vector.type)
def test_the_prediction_equals_the_published_figure(vector: NodeVector) -> None:
    left = predicted_allocatable(load().instances[vector.type], load().kubelet, 20 * GIB)
    assert left["cpu"] == vector.left_cpu_milli
    assert left["memory"] == vector.left_memory_mib * MIB
    assert left["ephemeral-storage"] == 17 * GIB, "Karpenter's figure for its default volume of 20Gi"


def test_what_the_node_class_reserves_is_gone_from_cpu_alone() -> None:
    instance = load().instances["p5.48xlarge"]
    plain = predicted_allocatable(instance, load().kubelet, 20 * GIB)
    reserved = predicted_allocatable(instance, load().kubelet, 20 * GIB, system_cpu_milli=1000)
    assert reserved == plain | {"cpu": plain["cpu"] - 1000}
