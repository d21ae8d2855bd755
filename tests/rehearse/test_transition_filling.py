"""The work that fills a cluster: it stays within the quotas, uses them up, and makes nodes that differ."""

from collections import Counter, defaultdict

import pytest

from gpuc.kubernetes.amounts import amount
from gpuc.kubernetes.node_pool import CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from gpuc.model import Cluster
from gpuc.substrates.eks.scaling import KEEP_NODE
from gpuc_rehearsal.client import address_of
from gpuc_rehearsal.transition.filling import NODES, Filling, fillings
from tests.conftest import EXAMPLES, example


def used(cluster: Cluster) -> dict[tuple[str, str, str], int]:
    """Returns the requests of all Jobs by ClusterQueue, pool and resource."""
    total: dict[tuple[str, str, str], int] = defaultdict(int)
    for filling in fillings(cluster):
        if not filling.local_queue:
            continue
        spec = filling.document["spec"]
        requests = spec["template"]["spec"]["containers"][0]["resources"]["requests"]
        for resource, text in requests.items():
            total[filling.local_queue, filling.pool, resource] += (amount(resource, text) or 0) * spec["parallelism"]
    return total


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_work_uses_the_quota_of_every_queue_up_and_no_more(name: str) -> None:
    cluster = example(name)
    total = used(cluster)
    for queue in cluster.queues:
        for part in queue.cluster_queues:
            for quota in part.pool_quotas:
                shares = [
                    total[part.name, quota.pool.name, resource] / limit
                    for resource, limit in quota.nominal.items()
                    if limit
                ]
                assert max(shares) <= 1, (part.name, quota.pool.name)
                assert max(shares) > 0.97, (part.name, quota.pool.name)


@pytest.mark.parametrize("name", EXAMPLES)
def test_few_nodes_run_and_each_queue_keeps_work_that_can_be_restarted(name: str) -> None:
    work = [filling for filling in fillings(example(name)) if filling.local_queue]
    nodes = Counter((filling.local_queue, filling.pool) for filling in work if filling.pods)
    assert max(nodes.values()) == NODES
    resting = {(filling.local_queue, filling.pool) for filling in work if not filling.pods}
    assert nodes.keys() <= resting


def test_nodes_of_a_pool_differ_in_zone_capacity_type_and_instance_type(prod: Cluster) -> None:
    selectors = [
        filling.document["spec"]["template"]["spec"]["nodeSelector"]
        for filling in fillings(prod)
        if filling.pool == "general" and filling.pods and filling.queue == "research"
    ]
    for key, values in (
        (ZONE, {"us-east-1a", "us-east-1b"}),
        (CAPACITY_TYPE, {"spot", "on-demand"}),
        (INSTANCE_TYPE, {"m7i.8xlarge", "m7i.16xlarge"}),
    ):
        assert {selector[key] for selector in selectors} == values


def test_pods_of_runs_may_not_be_disrupted(prod: Cluster) -> None:
    kept = {filling.pool for filling in fillings(prod) if keeps(filling)}
    assert kept == {"train-h100"}
    assert all(keeps(filling) for filling in fillings(prod, keeps_all=True) if filling.pods)


def keeps(filling: Filling) -> bool:
    annotations = filling.document["spec"]["template"].get("metadata", {}).get("annotations", {})
    return bool(annotations.items() >= KEEP_NODE.items())


def test_names_are_unique(prod: Cluster) -> None:
    addresses = [address_of(filling.document) for filling in fillings(prod)]
    assert len(addresses) == len(set(addresses))
