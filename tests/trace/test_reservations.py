"""Pods that need reserved instances: the number of instances is a limit, or is not judged."""

import pytest
from msgspec.structs import replace

from gpuc.manifest.manifest import Manifest
from gpuc.trace import Step
from tests.trace.test_nodes import AWS, job, jobset, need, other, pod, pool, step


def traced(work: Manifest, declared: str = "2", reservations: tuple[str, ...] = ("cr-1",)) -> Step:
    """The step of a workload on a pool with reservations, of which an annotation declares the instances."""
    both = need("karpenter.sh/capacity-type", "In", "reserved", "on-demand")
    gpus = pool("gpu", need("node.kubernetes.io/instance-type", "In", "p5.48xlarge"), both)
    gpus = replace(gpus, annotations={"gpuc.dev/reserved-instances": declared} if declared else {})
    terms = {"spec": {"capacityReservationSelectorTerms": [{"id": name} for name in reservations]}}
    node_class = other("karpenter.k8s.aws/v1", "EC2NodeClass", "default", terms)
    return step(work, gpus, node_class, is_complete=True)


@pytest.mark.parametrize(
    ("selector", "pods", "declared", "verdict"),
    [
        ({}, 3, "2", "passed"),
        ({"karpenter.sh/capacity-type": "on-demand"}, 3, "2", "passed"),
        ({"karpenter.sh/capacity-type": "reserved"}, 2, "2", "passed"),
        ({"karpenter.sh/capacity-type": "reserved"}, 3, "2", "failed"),
        ({"karpenter.sh/capacity-type": "reserved"}, 1, "", "unknown"),
        ({f"{AWS}capacity-reservation-id": "cr-1"}, 2, "2", "passed"),
        ({f"{AWS}capacity-reservation-id": "cr-1"}, 3, "2", "failed"),
        ({f"{AWS}capacity-reservation-id": "cr-2"}, 1, "2", "failed"),
        ({f"{AWS}capacity-reservation-type": "capacity-block"}, 1, "2", "unknown"),
        ({f"{AWS}capacity-reservation-type": "capacity-block"}, 3, "2", "failed"),
    ],
)
def test_c27_pods_that_need_reserved_instances(
    selector: dict[str, str], pods: int, declared: str, verdict: str
) -> None:
    assert traced(job(pod(8, nodeSelector=selector), pods), declared).verdict == verdict


def test_c27_one_of_several_reservations_has_an_unknown_number_of_instances() -> None:
    one = pod(8, nodeSelector={f"{AWS}capacity-reservation-id": "cr-1"})
    found = traced(job(one, 2), "4", ("cr-1", "cr-2"))
    assert (found.verdict, "capacity-reservation-id In cr-1" in found.message) == ("unknown", True)


def test_c27_pod_sets_share_the_reserved_instances() -> None:
    wanted = pod(8, nodeSelector={"karpenter.sh/capacity-type": "reserved"})
    assert traced(jobset(("a", 1, wanted), ("b", 1, wanted))).verdict == "passed"
    assert traced(jobset(("a", 2, wanted), ("b", 1, wanted))).verdict == "failed"
    assert traced(jobset(("a", 2, wanted), ("b", 1, pod(8)))).verdict == "passed"
