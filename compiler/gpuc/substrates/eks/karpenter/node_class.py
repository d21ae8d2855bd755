"""The EC2NodeClass of a pool: the image, network, disks and user data of its nodes."""

from gpuc.catalog.records import InstanceType
from gpuc.kubernetes.amounts import CPU, GIB, quantity_text
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Pool
from gpuc.substrates.eks.karpenter.user_data import user_data
from gpuc.substrates.eks.scaling import GP3_IOPS, GP3_THROUGHPUT, SYSTEM_CPU_MILLI, aws, eks
from gpuc.substrates.eks.section import SecurityGroups, Subnets
from gpuc.substrates.eks.tags import node_tags

_BOTTLEROCKET_OS_GIB = 4
"""Size of the volume for the operating system. Pods do not use this volume."""


def node_class(cluster: Cluster, pool: Pool) -> Body:
    """Returns the body of the EC2NodeClass of a pool. Each pool has its own EC2NodeClass, because images may differ.

    The body contains the API defaults, so that the live object does not differ from the object in Git.
    """
    section = aws(cluster)
    spec: Body = {
        **_image(pool),
        **({"role": section.node_role} if section.node_role else {"instanceProfile": section.instance_profile}),
        # The terms cannot select zones. The zone requirement of the NodePool selects among these subnets.
        "subnetSelectorTerms": _terms(section.subnets),
        "securityGroupSelectorTerms": _terms(section.security_groups),
        **_capacity(cluster, pool),
        **_network(pool),
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            # One hop: pods cannot get the credentials of the node.
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        },
        "blockDeviceMappings": _encrypted(_disks(pool), section.volume_kms_key),
        "tags": node_tags(cluster, pool),
    }
    if eks(pool).uses_instance_store:
        spec["instanceStorePolicy"] = "RAID0"
    if eks(pool).pins_cpus:
        spec["kubelet"] = {"systemReserved": {CPU: quantity_text(CPU, SYSTEM_CPU_MILLI)}}
    if text := user_data(cluster, pool):
        spec["userData"] = text
    return {"spec": spec}


def _terms(selector: Subnets | SecurityGroups) -> list[Body]:
    """Returns the terms of a selector: one term with all tags, or one term for each id."""
    return [{"id": name} for name in selector.ids] if selector.ids else [{"tags": dict(selector.tags or {})}]


def _encrypted(disks: list[Body], key: str | None) -> list[Body]:
    """Returns the disks with the KMS key that encrypts them; EC2 uses the default key of the account without a key."""
    return [{**disk, "ebs": {**disk["ebs"], "kmsKeyID": key}} for disk in disks] if key else disks


def _image(pool: Pool) -> Body:
    if eks(pool).ami.startswith("ami-"):
        return {"amiFamily": pool.image.ami_family, "amiSelectorTerms": [{"id": eks(pool).ami}]}
    return {"amiSelectorTerms": [{"alias": eks(pool).ami}]}


def _capacity(cluster: Cluster, pool: Pool) -> Body:
    body: Body = {}
    if ids := eks(pool).reserved_ids:
        body["capacityReservationSelectorTerms"] = [{"id": reservation} for reservation in ids]
    if eks(pool).spec.placement == "cluster":
        body["placementGroupSelector"] = {"name": f"{cluster.name}-{pool.name}"}
    return body


def _network(pool: Pool) -> Body:
    if not pool.has_efa:
        return {}
    # Without this list, a node that Karpenter starts for a pod without EFA would have no EFA devices, and later pods
    # that request EFA would wait forever. EC2 gives no public IP address to an instance with several interfaces.
    return {"associatePublicIPAddress": False, "networkInterfaces": efa_interfaces(pool.instances[0])}


def efa_interfaces(instance: InstanceType) -> list[Body]:
    """Returns the network interfaces of a node with EFA: one with an IP address, then EFA-only interfaces.

    Each network card that supports EFA has one EFA-only interface. If an instance type has more network cards than EFA
    devices, the first cards do not support EFA.

    Source: Amazon EC2 User Guide, efa-acc-inst-types: card 0 takes its EFA as device 1, further cards as device 0
    """
    cards = range(instance.network_cards - instance.efa, instance.network_cards)
    return [_interface(0, 0, "interface"), *(_interface(card, int(card == 0), "efa-only") for card in cards)]


def _interface(card: int, device: int, kind: str) -> Body:
    return {"networkCardIndex": card, "deviceIndex": device, "interfaceType": kind}


def _disks(pool: Pool) -> list[Body]:
    size_gib = -(-eks(pool).root_volume_bytes // GIB)
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
    if (eks(pool).root_volume_throughput, eks(pool).root_volume_iops) != (GP3_THROUGHPUT, GP3_IOPS):
        disk["ebs"] |= {"iops": eks(pool).root_volume_iops, "throughput": eks(pool).root_volume_throughput}
    return {**disk, "rootVolume": True}


def _disk(device: str, size_gib: int) -> Body:
    ebs = {"volumeSize": f"{size_gib}Gi", "volumeType": "gp3", "encrypted": True, "deleteOnTermination": True}
    return {"deviceName": device, "ebs": ebs, "rootVolume": False}
