"""What a NodePool says about its nodes: labels, numbers, instance types and resources."""

from typing import Any

import pytest

from gpuc.cluster.flavors import FlavorCapacity
from gpuc.cluster.pools import Pools
from gpuc.kubernetes.selector import requirement
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import EFA, GPU
from gpuc.objects.object_set import ObjectSet
from tests.tables import table

CASES = table(__file__, "test_pools.yaml")

TYPE = "node.kubernetes.io/instance-type"


def _object(kind: str, name: str, spec: dict[str, Any], group: str = "karpenter.sh") -> Manifest:
    return Manifest("a.yaml", (), f"{group}/v1", kind, name, {"spec": spec})


def _pool(name: str, labels: dict[str, str], *requirements: dict[str, Any], **spec: Any) -> Manifest:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"metadata": {"labels": labels}, "spec": {"requirements": list(requirements), "nodeClassRef": reference}}
    return _object("NodePool", name, {"template": template, **spec})


def _class(**spec: Any) -> Manifest:
    return _object("EC2NodeClass", "default", spec, "karpenter.k8s.aws")


def _types(*names: str) -> dict[str, Any]:
    return {"key": TYPE, "operator": "In", "values": list(names)}


def _read(*manifests: Manifest) -> Pools:
    return Pools(ObjectSet(manifests, is_complete=True))


def test_pools_are_found_by_what_their_nodes_can_have() -> None:
    open_ = {"key": "example.com/rack", "operator": "Exists"}
    nodes = _read(
        _pool("a", {"t": "x"}, _types("p5.48xlarge")), _pool("b", {"t": "y"}, open_), _pool("c", {}, replicas=2)
    )

    def names(wanted: dict[str, str]) -> list[str]:
        return [pool.name for pool in nodes.matching(wanted)]

    assert names({"t": "x"}) == ["a"]
    assert names({"example.com/rack": "r1"}) == ["b"]
    assert names({"beta.kubernetes.io/instance-type": "g6.xlarge"}) == ["b", "c"]
    assert names({"karpenter.sh/capacity-type": "spott"}) == []
    assert names({"nvidia.com/gpu.product": "H100"}) == ["c"]
    assert names({"karpenter.sh/nodepool": "b", "t": "x"}) == []
    assert [pool.name for pool in nodes.meeting((requirement("t", "NotIn", ("x",)),))] == ["b", "c"]


def test_nodes_have_only_the_labels_that_their_node_class_allows() -> None:
    nodes = _read(_pool("a", {}, _types("p5.48xlarge")), _class(amiFamily="AL2023"))
    assert [pool.name for pool in nodes.matching({"kubernetes.io/os": "linux"})] == ["a"]
    assert nodes.matching({"kubernetes.io/os": "windows"}) == []
    assert nodes.matching({"karpenter.sh/capacity-type": "reserved"}) == []


@pytest.mark.parametrize(("spec", "most", "startable"), CASES["the_number_of_nodes"])
def test_the_number_of_nodes(spec: dict[str, Any], most: int | None, startable: int | None) -> None:
    """A limit is a quantity: the API server also accepts numbers and suffixes."""
    (pool,) = _read(_pool("a", {}, **spec)).pools
    assert (pool.most_nodes, pool.startable, pool.is_closed) == (most, startable, startable == 0)


def test_a_type_without_a_required_label_is_no_type_of_the_pool() -> None:
    """Karpenter starts no type without GPUs for a requirement of their number."""
    gpus = {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Gt", "values": ["0"]}
    (pool,) = _read(_pool("a", {}, _types("g6.xlarge", "c7i.4xlarge"), gpus, limits={"nodes": "2"})).pools
    assert pool.listed_types == ["g6.xlarge"]
    assert pool.maximum(GPU) == 2


def test_the_network_interfaces_of_the_node_class_are_the_efa_devices() -> None:
    interfaces = [{"interfaceType": "interface"}, {"interfaceType": "efa-only"}, {"interfaceType": "efa-only"}]
    pool = _pool("a", {}, _types("p5.48xlarge"), limits={"nodes": "3"})
    assert _read(pool, _class(networkInterfaces=interfaces)).pools[0].maximum(EFA) == 6
    assert _read(pool, _class()).pools[0].maximum(EFA) == 96


def test_a_pool_that_starts_no_nodes_has_no_capacity_for_quotas() -> None:
    pool = _pool("a", {"team": "x"}, limits={"nodes": "0"})
    flavor = _object("ResourceFlavor", "f", {"nodeLabels": {"team": "x"}}, "kueue.x-k8s.io")
    flavors = FlavorCapacity(ObjectSet([pool, flavor], is_complete=True))
    assert flavors.closed == {"f"}
    assert flavors.maximum(("f", GPU)) == 0


def test_overlays_that_apply_perhaps_can_only_raise_the_bound_of_a_resource() -> None:
    def overlay(name: str, weight: int, count: str, *requirements: dict[str, Any]) -> Manifest:
        return _object(
            "NodeOverlay", name, {"weight": weight, "requirements": list(requirements), "capacity": {GPU: count}}
        )

    own = {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["a"]}
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-east-1a"]}
    manifests = [_pool("a", {}, _types("p5.48xlarge")), overlay("sure", 2, "4", own)]

    def bound(*others: Manifest) -> int:
        return _read(*manifests, *others).pools[0].bounds[0][GPU]

    assert bound() == 4
    assert bound(overlay("perhaps", 3, "80", zone)) == 80
    assert bound(overlay("perhaps", 3, "2", zone)) == 4
    assert bound(overlay("perhaps", 1, "80", zone)) == 4
