"""EC2NodeClass: image, network, disks and user data of the nodes of a pool."""

from __future__ import annotations

from gpuc.catalog.records import InstanceType
from gpuc.emit.nodes.user_data import user_data
from gpuc.kubernetes.amounts import CPU, GIB, quantity_text
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Pool
from gpuc.model.names import COST_LABEL, ENVIRONMENT_LABEL, POOL_LABEL, TENANT_KEY
from gpuc.model.pool import GP3_IOPS, GP3_THROUGHPUT, SYSTEM_CPU_MILLI

CLUSTER_TAG = "gpuc.dev/cluster"
"""Tag of instances and volumes for cost allocation, together with the tag of the pool."""

_BOTTLEROCKET_OS_GIB = 4
"""Size of the volume for the operating system. Pods do not use this volume."""


def node_class(cluster: Cluster, pool: Pool) -> Body:
    """Returns the body of the EC2NodeClass of a pool. Each pool has its own EC2NodeClass, because images may differ.

    The body contains the API defaults, so that the live object does not differ from the object in Git.
    """
    aws = cluster.aws
    spec: Body = {
        **_image(pool),
        "role": aws.node_role,
        # Tags cannot select zones. The zone requirement of the NodePool selects among these subnets.
        "subnetSelectorTerms": [{"tags": dict(aws.subnets.tags)}],
        "securityGroupSelectorTerms": [{"tags": dict(aws.security_groups.tags)}],
        **_capacity(cluster, pool),
        **_network(pool),
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            # One hop: pods cannot get the credentials of the node.
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        },
        "blockDeviceMappings": _disks(pool),
        "tags": _tags(cluster, pool),
    }
    if pool.uses_instance_store:
        spec["instanceStorePolicy"] = "RAID0"
    if pool.pins_cpus:
        spec["kubelet"] = {"systemReserved": {CPU: quantity_text(CPU, SYSTEM_CPU_MILLI)}}
    if text := user_data(cluster, pool):
        spec["userData"] = text
    return {"spec": spec}


def _tags(cluster: Cluster, pool: Pool) -> dict[str, str]:
    """Returns the tags of instances and volumes, by which AWS Cost Explorer divides the costs.

    The tags of the spec are less important than those of gpuc. A change of a tag replaces the nodes (drift), because
    Karpenter does not change the tags of instances.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go (Hash, Tags)
    """
    tags = {**cluster.aws.tags, CLUSTER_TAG: cluster.name, POOL_LABEL: pool.name}
    tags[ENVIRONMENT_LABEL] = cluster.spec.environment
    tenants = cluster.tenants_of(pool)
    if len(tenants) == 1:
        tags |= {TENANT_KEY: tenants[0].name, COST_LABEL: tenants[0].spec.cost_centre}
    return dict(sorted(tags.items()))


def _image(pool: Pool) -> Body:
    if pool.ami.startswith("ami-"):
        return {"amiFamily": pool.image.ami_family, "amiSelectorTerms": [{"id": pool.ami}]}
    return {"amiSelectorTerms": [{"alias": pool.ami}]}


def _capacity(cluster: Cluster, pool: Pool) -> Body:
    body: Body = {}
    if pool.spec.reservations is not None:
        body["capacityReservationSelectorTerms"] = [{"id": reservation} for reservation in pool.spec.reservations.ids]
    if pool.spec.placement == "cluster":
        body["placementGroupSelector"] = {"name": f"{cluster.name}-{pool.name}"}
    return body


def _network(pool: Pool) -> Body:
    if not pool.has_efa:
        return {}
    # Without this list, a node that Karpenter starts for a pod without EFA would have no EFA devices, and later pods
    # that request EFA would wait forever. EC2 gives no public IP address to an instance with several interfaces.
    return {"associatePublicIPAddress": False, "networkInterfaces": efa_interfaces(pool.instances[0])}


def efa_interfaces(instance: InstanceType) -> list[Body]:
    """Returns one interface with an IP address, then one EFA-only interface per network card that supports EFA.

    If an instance type has more network cards than EFA devices, the first cards do not support EFA.

    Source: Amazon EC2 User Guide, efa-acc-inst-types: card 0 takes its EFA as device 1, further cards as device 0
    """
    cards = range(instance.network_cards - instance.efa, instance.network_cards)
    return [_interface(0, 0, "interface"), *(_interface(card, int(card == 0), "efa-only") for card in cards)]


def _interface(card: int, device: int, kind: str) -> Body:
    return {"networkCardIndex": card, "deviceIndex": device, "interfaceType": kind}


def _disks(pool: Pool) -> list[Body]:
    size_gib = -(-pool.root_volume_bytes // GIB)
    match pool.image.ami_family:
        case "Bottlerocket":
            return [_disk("/dev/xvda", _BOTTLEROCKET_OS_GIB), _pod_disk("/dev/xvdb", size_gib, pool)]
        case "Custom":
            return [_pod_disk("/dev/sda1", size_gib, pool)]
        case _:
            return [_pod_disk("/dev/xvda", size_gib, pool)]


def _pod_disk(device: str, size_gib: int, pool: Pool) -> Body:
    """Returns the disk that contains images and data of pods, with its performance if it differs from EC2's default."""
    disk = _disk(device, size_gib)
    if (pool.root_volume_throughput, pool.root_volume_iops) != (GP3_THROUGHPUT, GP3_IOPS):
        disk["ebs"] |= {"iops": pool.root_volume_iops, "throughput": pool.root_volume_throughput}
    return {**disk, "rootVolume": True}


def _disk(device: str, size_gib: int) -> Body:
    ebs = {"volumeSize": f"{size_gib}Gi", "volumeType": "gp3", "encrypted": True, "deleteOnTermination": True}
    return {"deviceName": device, "ebs": ebs, "rootVolume": False}
