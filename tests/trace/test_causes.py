"""A cause names the object that decides and its field, and the advice is one that can be followed."""

from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.trace import Step
from tests.trace.test_nodes import G6, G6_48, ZONE, ZONES, job, need, other, pod, pool, result

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
P5 = need("node.kubernetes.io/instance-type", "In", "p5.48xlarge")


def agent(name: str = "agent", gpus: int = 0, **requests: str) -> Manifest:
    spec = {**pod(gpus, **requests), "tolerations": [{"operator": "Exists"}]}
    return other("apps/v1", "DaemonSet", name, {"spec": {"template": {"spec": spec}}}, "monitoring")


def nodes(**spec: Any) -> Manifest:
    return other("karpenter.k8s.aws/v1", "EC2NodeClass", "default", {"spec": spec})


def volume(name: str, *zones: str) -> list[Manifest]:
    term = {"matchExpressions": [need(ZONE, "In", *zones)]}
    body = {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}}
    claim = other("v1", "PersistentVolumeClaim", name, {"spec": {"volumeName": f"pv-{name}"}}, "default")
    return [claim, other("v1", "PersistentVolume", f"pv-{name}", body)]


def mounted(*names: str) -> dict[str, Any]:
    return {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]}


def storage(amount: str) -> dict[str, Any]:
    return {"limits": {"ephemeral-storage": amount}}


def failure(work: Manifest, *objects: Manifest) -> Step:
    found = result(work, *objects, is_complete=True).failure
    assert found is not None
    return found


SMALL = "use a volume that nodes of the pool reach"


@pytest.mark.parametrize(
    ("asked", "objects", "says", "fix", "place"),
    [
        # A volume.
        (mounted("a"), [*volume("a", "us-east-1c")], "PersistentVolume pv-a decides", SMALL, "nodeSelectorTerms"),
        (mounted("a", "b"), [*volume("a", "us-east-1c"), *volume("b", "us-east-1b", "us-east-1c")],
         "PersistentVolume pv-a decides", SMALL, "nodeSelectorTerms"),
        (mounted("a", "b"), [*volume("a", "us-east-1a"), *volume("b", "us-east-1b")],
         "the same topology.kubernetes.io/zone for all requirements", SMALL, "nodeSelectorTerms"),
        (mounted("a") | {"nodeSelector": {ZONE: "us-east-1b"}}, [*volume("a", "us-east-1a")],
         "PersistentVolume pv-a decides", SMALL, "nodeSelectorTerms"),
        # maxPods.
        ({}, [nodes(kubelet={"maxPods": 1}), agent(cpu="1m")], "maxPods of EC2NodeClass default allows 1 pods",
         "raise maxPods, or run fewer DaemonSets on the nodes", "maxPods"),
        ({}, [nodes(kubelet={"maxPods": 2}), agent(cpu="1m"), agent("other", cpu="1m")],
         "maxPods of EC2NodeClass default allows 2 pods",
         "raise maxPods, or run fewer DaemonSets on the nodes", "maxPods"),
        ({"limits": {GPU: "1"}}, [nodes(kubelet={"maxPods": 1}), agent(cpu="1m")], "maxPods of EC2NodeClass default",
         "raise maxPods, or run fewer DaemonSets on the nodes", "maxPods"),
        # A DaemonSet.
        ({"limits": {GPU: "1"}}, [agent(gpus=1)], "without DaemonSet monitoring/agent, the pod fits",
         "reduce the requests of DaemonSet monitoring/agent", ""),
        ({"cpu": "3"}, [agent(cpu="2"), agent("other", cpu="1")], "without DaemonSet monitoring/agent, the pod fits",
         "request at most 770m cpu in one pod, or reduce the requests of DaemonSet monitoring/agent", ""),
        ({"cpu": "1"}, [agent(cpu="4")], "without DaemonSet monitoring/agent, the pod fits",
         "reduce the requests of DaemonSet monitoring/agent", ""),
        # The volume of the nodes.
        (storage("100Gi"), [nodes(role="a")], "a node has 17Gi for pods",
         "request at most 17Gi ephemeral-storage in one pod, "
         "or raise volumeSize in blockDeviceMappings of EC2NodeClass default", ""),
        (storage("100Gi"), [nodes(blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "50Gi"}}])],
         "a node has 44Gi for pods",
         "request at most 44Gi ephemeral-storage in one pod, "
         "or raise volumeSize in blockDeviceMappings of EC2NodeClass default", ""),
        (storage("100Gi"), [], "a node has 17Gi for pods", "request at most 17Gi ephemeral-storage in one pod", ""),
        # A device.
        ({"limits": {"hugepages-2Mi": "4Mi"}}, [], "a node has 0 for pods",
         "remove the request of hugepages-2Mi from the pods, or use nodes that have it", ""),
        ({"limits": {EFA: "1"}}, [], f"no instance type that node pool gpu allows has {EFA}",
         f"remove the request of {EFA} from the pods, or use nodes that have it", "template"),
    ],
)  # fmt: skip
def test_the_cause_and_its_advice(
    asked: dict[str, Any], objects: list[Manifest], says: str, fix: str, place: str
) -> None:
    found = failure(job(pod(**asked)), pool("gpu", G6, ZONES), *objects)
    assert says in found.message
    assert found.fix == fix
    assert found.path[-1:] == ((place,) if place else ())


def test_a_node_class_without_efa_interfaces_is_named() -> None:
    interfaces = [{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}]
    found = failure(job(pod(limits={EFA: "1"})), pool("gpu", P5), nodes(networkInterfaces=interfaces))
    assert found.message.endswith(f"has {EFA}: networkInterfaces of EC2NodeClass default has none")
    assert found.path == ("spec", "networkInterfaces")


@pytest.mark.parametrize("other_zone", ["us-east-1b", "us-east-1c"])
def test_terms_that_contradict_each_other_match_no_node(other_zone: str) -> None:
    term = {"matchExpressions": [need(ZONE, "In", other_zone)]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    work = job(pod(1, nodeSelector={ZONE: "us-east-1a"}, affinity=affinity))
    assert failure(work, pool("gpu", G6_48, ZONES)).stage.value == "node pool"


def test_terms_that_meet_in_one_value_match_a_node() -> None:
    term = {"matchExpressions": [need(ZONE, "In", "us-east-1a", "us-east-1c")]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    work = job(pod(1, nodeSelector={ZONE: "us-east-1a"}, affinity=affinity))
    assert result(work, pool("gpu", G6_48, ZONES), is_complete=True).failure is None
