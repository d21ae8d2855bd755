"""The quota that objects of --workloads use: Kueue's choice of flavors, one object after another."""

from pathlib import Path
from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change
from gpuc.plan.planner import plan_cluster
from gpuc.plan.queue_usage import total_use, uses
from gpuc.plan.state import state_after
from tests.plan.cases import HEAD, compiled

QUEUE = "kueue.x-k8s.io/queue-name"
GPU = "nvidia.com/gpu"


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("states")
    texts = {
        "before": "extends: [training.yaml]\n",
        "fewer": "extends: [training.yaml]\nspec: {queues: {red: {quota: {train: {nodes: 6}}}}}\n",
        "three queues": """
extends: [training.yaml]
spec:
  tenants:
    green:
      members: {groups: [green], role: edit}
      costCentre: GREEN
      isolation: network
      namespaces: {green-train: {podSecurity: privileged}}
  queues:
    red: {quota: {train: {nodes: 9}, cpus: {nodes: 1}}}
    green: {tenants: [green], cohort: all, quota: {train: {nodes: 1, borrow: 4}, cpus: {nodes: 1}}}
""",
        "removed": "extends: [training.yaml]\n"
        "spec: {queues: {red: {tenants: [red, blue], quota: {train: {borrow: 0}}}, blue: null}}\n",
    }
    return {name: state_after(compiled(folder / name, HEAD + text)) for name, text in texts.items()}


def job(name: str, pods: int, queue: str = "red", namespace: str = "red-train", gpus: int = 8) -> Manifest:
    requests = {"cpu": "8", GPU: str(gpus)}
    container = {"name": "main", "image": "example", "resources": {"requests": requests, "limits": {GPU: str(gpus)}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    body = {"spec": {"parallelism": pods, "completions": pods, "template": template}}
    return Manifest("jobs.yaml", (), "batch/v1", "Job", name, body, namespace, {QUEUE: queue})


def test_the_next_flavor_is_used_when_the_first_one_is_full(states: dict[str, Any]) -> None:
    # The queue can use 16 nodes of train with borrowed quota, and its own 2 nodes of batch. Without the first flavor,
    # Kueue borrows on train only after it has tried batch.
    workloads = (job("a", 10), job("b", 2), job("c", 6))
    found = uses(Change(states["before"], states["before"], workloads))
    nodes = [(flavor, count // 8) for use in found for (flavor, name), count in use.usage.items() if name == GPU]
    assert nodes == [("train", 10), ("batch", 2), ("train", 6)]
    assert total_use(found, "red", ("train", GPU)) == 16 * 8


def test_two_queues_do_not_borrow_the_same_quota(states: dict[str, Any]) -> None:
    # Queues red and green use their own 9 nodes and 1 node. Queue blue lends 6 nodes: after red has borrowed 4 of them,
    # green can borrow 2.
    workloads = (
        job("red-own", 9),
        job("red-borrows", 4),
        job("green-own", 1, "green", "green-train"),
        job("green-borrows-3", 3, "green", "green-train"),
        job("green-borrows-2", 2, "green", "green-train"),
    )
    found = uses(Change(states["three queues"], states["three queues"], workloads))
    nodes = {use.manifest.name: use.usage.get(("train", GPU), 0) // 8 for use in found}
    assert nodes == {"red-own": 9, "red-borrows": 4, "green-own": 1, "green-borrows-3": 0, "green-borrows-2": 2}


def test_objects_without_a_known_queue_use_nothing(states: dict[str, Any]) -> None:
    workloads = (job("a", 1, queue="unknown"), job("b", 1, namespace="elsewhere"), job("c", 40))
    found = uses(Change(states["before"], states["before"], workloads))
    assert [(use.manifest.name, use.usage) for use in found] == [("c", {})]


def test_impacts_name_the_objects_and_what_they_use(states: dict[str, Any], tmp_path: Path) -> None:
    change = Change(states["before"], states["fewer"], (job("pretrain", 9),))
    details = [text for impact in plan_cluster(change).impacts if impact.id == "IMP201" for text in impact.details]
    expected = "the objects of --workloads request 9 nodes, 3 nodes more than the new quota: Job red-train/pretrain"
    assert expected in details


def test_a_removed_queue_names_its_objects(states: dict[str, Any]) -> None:
    change = Change(states["before"], states["removed"], (job("eval", 1, queue="blue", namespace="blue-train"),))
    details = [text for impact in plan_cluster(change).impacts if impact.id == "IMP215" for text in impact.details]
    assert "objects of --workloads in the queue: Job blue-train/eval" in details
