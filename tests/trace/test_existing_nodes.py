"""`gpuc trace` with nodes that exist: what the objects show of their labels, and what they do not show."""

from typing import Any

import pytest

from tests.conftest import MACHINES
from tests.trace.conftest import Traced
from tests.trace.test_whole_way import job

REQUIRED, PREFERRED = (f"kueue.x-k8s.io/podset-{word}-topology" for word in ("required", "preferred"))
BLOCK, RACK, HOST = "topology.k8s.aws/network-node-layer-4", "gpuc.dev/rack", "kubernetes.io/hostname"
RESOURCES = {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"nvidia.com/gpu": "8"}}


def gang(count: int, notes: dict[str, str], namespace: str, queue: str, **nodes: str) -> dict[str, Any]:
    """Returns a Job whose pods need a whole node each."""
    labels = {"kueue.x-k8s.io/queue-name": queue}
    work = job(metadata__namespace=namespace, metadata__labels=labels)
    work["spec"] |= {"parallelism": count, "completions": count}
    template = work["spec"]["template"]
    template["metadata"] = {"annotations": notes}
    template["spec"]["nodeSelector"] = nodes
    template["spec"]["containers"][0] |= {
        "resources": RESOURCES, "envFrom": [{"configMapRef": {"name": "nccl-efa-large"}}],
    }  # fmt: skip
    return work


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("count", "notes", "nodes", "code"),
    [
        (2, {PREFERRED: BLOCK}, {}, 0),
        (1, {REQUIRED: BLOCK}, {}, 0),
        (2, {REQUIRED: BLOCK}, {}, 4),
        (2, {REQUIRED: HOST}, {}, 1),
        (99, {REQUIRED: BLOCK}, {}, 1),
        (1, {}, {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}, 4),
        (1, {}, {HOST: "ip-10-0-0-1"}, 4),
        (1, {}, {"example.com/other": "a"}, 1),
    ],
)
def test_c27_labels_that_only_nodes_show_are_not_judged(
    count: int, notes: dict[str, str], nodes: dict[str, str], code: int, traced: Traced
) -> None:
    work = gang(count, notes, "foundation-train", "foundation", **{"gpuc.dev/pool": "core-b200", **nodes})
    assert traced(work, where="train-usw2")[0] == code


@pytest.mark.share(2)
@pytest.mark.parametrize(("count", "code"), [(7, 0), (8, 0), (9, 1)])
def test_c27_the_rules_of_existing_nodes_show_the_racks(
    count: int, code: int, traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rack a has 8 nodes, and rack b has 7: one of its nodes is excluded."""
    monkeypatch.chdir(MACHINES)
    work = gang(count, {REQUIRED: RACK}, "research-train", "research", **{"gpuc.dev/pool": "train-h100"})
    found_code, found = traced(work, where="hall-fra1")
    assert found_code == code
    assert code == 0 or "allows to fit only 8 out of 9 pod(s)" in found["steps"][-1]["message"]
