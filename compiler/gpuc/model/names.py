"""The names of labels, taints, annotations and resources that several components use."""

DOMAIN = "gpuc.dev"

POOL_LABEL = "gpuc.dev/pool"
"""Label of nodes, and taint of nodes without GPUs: the name of the pool."""
MODE_KEY = "gpuc.dev/mode"
"""Label and taint of GPU nodes with the sharing mode: exclusive, mig or shared."""
TENANT_KEY = "gpuc.dev/tenant"
"""Label of tenant namespaces, and taint of nodes that are dedicated to a tenant."""
ENVIRONMENT_LABEL = "gpuc.dev/environment"
COST_LABEL = "gpuc.dev/cost-centre"
GPUS_TAINT = "gpuc.dev/gpus"
"""Startup taint of GPU nodes until they advertise the resources of their pool."""
SYSTEM_TAINT = "CriticalAddonsOnly"
"""The key of the taint of system nodes, which keeps pods of tenants off. The value is true, the effect NoSchedule.

The chart of the autoscaler and the add-ons of the cloud tolerate this taint by default.
Source: aws/karpenter-provider-aws v1.14.1 charts/karpenter/values.yaml, key tolerations;
awsdocs/amazon-eks-user-guide latest/ug/automode/set-builtin-node-pools.adoc
"""
WHY = "gpuc.dev/why"
"""Annotation with the reason from the spec."""
IAM_ROLE = "gpuc.dev/iam-role"
"""Annotation of a ServiceAccount: the ARN of its IAM role, as in the spec. No controller reads the annotation."""
ALLOCATABLE = "gpuc.dev/allocatable"
"""Annotation of a NodeFeatureRule: the allocatable resources of a node of the pool, as JSON."""
SERVER_LABEL = "gpuc.dev/server-type"
"""Label of existing nodes: the type of the server."""
PROVEN_LABEL = "gpuc.dev/server-proven"
"""Label of existing nodes whose firmware reports the product name of the type of their server."""
EXCLUDED = "gpuc.dev/excluded"
"""Taint of existing nodes that take no pods for now."""
RESERVED_INSTANCES = "gpuc.dev/reserved-instances"
"""Annotation of a NodePool: the number of instances of its capacity reservations, as in the spec.

`gpuc trace` also reads compiled files and dumps of a cluster, and no field of their objects has the number.
"""

POOL_CLASS = "gpuc-pool-"
"""How the PriorityClasses of node pools begin, before the name of the pool."""

PLACEHOLDER_REGISTRY = "registry.example.com/"
"""The registry of images that users have to replace."""

GPU = "nvidia.com/gpu"
SHARED_GPU = "nvidia.com/gpu.shared"
GPU_TAINT_VALUE = "present"
EFA = "vpc.amazonaws.com/efa"
HUGEPAGES = "hugepages-2Mi"

PLUGIN_CONFIG_LABEL = "nvidia.com/device-plugin.config"
MIG_CONFIG_LABEL = "nvidia.com/mig.config"
OPERANDS_LABEL = "nvidia.com/gpu.deploy.operands"
"""With the value "false", the GPU Operator starts no pods on a node.

Source: NVIDIA/gpu-operator v26.7.0 controllers/state_manager.go (hasOperandsDisabled), nodelabeling_controller.go
"""
DRIVER_LABEL = "nvidia.com/gpu.deploy.driver"
"""With another value than "true", the GPU Operator starts no driver pod on a node. It keeps the value of others.

Source: NVIDIA/gpu-operator v26.7.0 assets/state-driver/0500_daemonset.yaml, controllers/state_manager.go
(addGPUStateLabels)
"""
GPUS_CONDITION = "GpucGpusReady"
"""Node condition: whether user data has checked and partitioned the GPUs of the node."""


def mig_resource(profile: str) -> str:
    """Returns the resource name of a MIG profile for MIG strategy mixed: nvidia.com/mig-1g.10gb.me for 1g.10gb+me."""
    return f"nvidia.com/mig-{profile.replace('+', '.')}"


def mig_profile(resource: str) -> str:
    """Returns the MIG profile of a resource, such as 1g.10gb+me for nvidia.com/mig-1g.10gb.me; empty if it has none."""
    _, is_mig, name = resource.partition(mig_resource(""))
    size, unit, attribute = name.partition("gb")
    return f"{size}{unit}{attribute.replace('.', '+', 1)}" if is_mig else ""


def is_gpu_resource(resource: str) -> bool:
    """Returns whether a resource name means GPUs, MIG slices or GPU shares."""
    return resource.startswith("nvidia.com/")
