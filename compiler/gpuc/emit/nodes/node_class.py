"""EC2NodeClass: image, network, disks and boot of a pool's nodes."""

from __future__ import annotations

from gpuc.catalog.records import InstanceType
from gpuc.emit.nodes.user_data import user_data
from gpuc.kubernetes.amounts import CPU, GIB, quantity_text
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Pool
from gpuc.model.names import POOL_LABEL
from gpuc.model.pool import SYSTEM_CPU_MILLI

CLUSTER_TAG = "gpuc.dev/cluster"
"""Tag of instances and volumes, beside the pool's: what a bill is split by."""

_BOTTLEROCKET_OS_GIB = 4
"""The operating system's own volume, which holds no pods."""


def node_class(cluster: Cluster, pool: Pool) -> Body:
    """The body of a pool's EC2NodeClass; pools share none, because custom images differ with and without GPUs.

    Values that the API server would fill in are written, so that what is applied is what is compared.
    """
    aws = cluster.aws
    spec: Body = {
        **_image(pool),
        "role": aws.node_role,
        # Tags cannot name a zone: the pool's zone requirement chooses among these subnets.
        "subnetSelectorTerms": [{"tags": dict(aws.subnets.tags)}],
        "securityGroupSelectorTerms": [{"tags": dict(aws.security_groups.tags)}],
        **_capacity(cluster, pool),
        **_network(pool),
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            # One hop: pods cannot reach the node's credentials.
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        },
        "blockDeviceMappings": _disks(pool),
        "tags": {CLUSTER_TAG: cluster.name, POOL_LABEL: pool.name},
    }
    if pool.uses_instance_store:
        spec["instanceStorePolicy"] = "RAID0"
    if pool.pins_cpus:
        spec["kubelet"] = {"systemReserved": {CPU: quantity_text(CPU, SYSTEM_CPU_MILLI)}}
    if text := user_data(cluster, pool):
        spec["userData"] = text
    return {"spec": spec}


def _image(pool: Pool) -> Body:
    if pool.ami.startswith("ami-"):
        return {"amiFamily": pool.image.ami_family, "amiSelectorTerms": [{"id": pool.ami}]}
    return {"amiSelectorTerms": [{"alias": pool.ami}]}


def _capacity(cluster: Cluster, pool: Pool) -> Body:
    body: Body = {}
    if pool.spec.reservations is not None:
        body["capacityReservationSelectorTerms"] = [{"id": each} for each in pool.spec.reservations.ids]
    if pool.spec.placement == "cluster":
        body["placementGroupSelector"] = {"name": f"{cluster.name}-{pool.name}"}
    return body


def _network(pool: Pool) -> Body:
    if not pool.has_efa:
        return {}
    # Without the list a node that was started by a pod without EFA has no EFA, and later pods wait for it for ever.
    # EC2 refuses public addresses on instances with several interfaces.
    return {"associatePublicIPAddress": False, "networkInterfaces": efa_interfaces(pool.instances[0])}


def efa_interfaces(instance: InstanceType) -> list[Body]:
    """One interface with an address, then one EFA without an address on each network card that has EFA.

    Where a type has more cards than EFAs, the first cards are those without.

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
            return [_disk("/dev/xvda", _BOTTLEROCKET_OS_GIB, False), _disk("/dev/xvdb", size_gib, True)]
        case "Custom":
            return [_disk("/dev/sda1", size_gib, True)]
        case _:
            return [_disk("/dev/xvda", size_gib, True)]


def _disk(device: str, size_gib: int, holds_pods: bool) -> Body:
    ebs = {"volumeSize": f"{size_gib}Gi", "volumeType": "gp3", "encrypted": True, "deleteOnTermination": True}
    return {"deviceName": device, "ebs": ebs, "rootVolume": holds_pods}
