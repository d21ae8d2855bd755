"""Names in the API of Kueue, and the node labels of topology levels."""

from collections.abc import Mapping

from gpuc.kubernetes.node_pool import HOSTNAME, ZONE

GROUP = "kueue.x-k8s.io"
KUEUE_API = f"{GROUP}/v1beta2"
VISIBILITY = "visibility.kueue.x-k8s.io"
"""The API group of the server that lists waiting workloads."""
REQUIRED_TOPOLOGY = f"{GROUP}/podset-required-topology"
PREFERRED_TOPOLOGY = f"{GROUP}/podset-preferred-topology"
UNCONSTRAINED_TOPOLOGY = f"{GROUP}/podset-unconstrained-topology"
GATE = f"{GROUP}/admission"
"""The scheduling gate of the pods that Kueue has not admitted.

Source: kueue v0.19.2 pkg/controller/jobs/pod/constants/constants.go
"""
MANAGED_LABEL = f"{GROUP}/managed"
"""The label of the pods that have or had Kueue's scheduling gate. The value is "true".

Source: kueue v0.19.2 pkg/controller/constants/constants.go
"""
QUEUE_LABEL = f"{GROUP}/queue-name"
PODSET_LABEL, POD_GROUP_TOTAL = f"{GROUP}/podset", f"{GROUP}/pod-group-total-count"
MIN_PARALLELISM = f"{GROUP}/job-min-parallelism"
PRIORITY_LABEL = f"{GROUP}/priority-class"
BATCH_JOB = "batch/job"
POD, DEPLOYMENT = "pod", "deployment"
"""The frameworks of Kueue for Jobs, Pods and Deployments."""
NETWORK_LAYERS = 3
"""The number of network layers above an instance of most types. EC2 numbers the layers from the top."""
LEVEL_LABELS = {
    "zone": ZONE,
    "block": f"topology.k8s.aws/network-node-layer-{NETWORK_LAYERS}",
    "rack": "gpuc.dev/rack",
    "host": HOSTNAME,
}
"""Node labels by topology level, for instance types with three network layers; the widest level comes first."""


def level_label(level: str, network_layers: int = NETWORK_LAYERS) -> str:
    """Returns the node label of a topology level. The level "block" is the network layer to which instances connect.

    The cloud controller manager sets the labels of the layers after a node has joined. So a pod that selects nodes by
    one of these labels needs nodes that exist before the pod.

    Source: EC2 User Guide, how-ec2-instance-topology-works, ec2-instance-topology-prerequisites
    """
    return f"topology.k8s.aws/network-node-layer-{network_layers}" if level == "block" else LEVEL_LABELS[level]


def topology_name(labels: Mapping[str, str]) -> str:
    """Returns a name for a Topology from the labels of its levels: zone-block-host or zone-block4-host."""
    return "-".join(
        level if label == LEVEL_LABELS[level] else f"{level}{label.rpartition('-')[2]}"
        for level, label in labels.items()
    )
