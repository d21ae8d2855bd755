from gpuc.cluster.pool_fields import LABELS
from gpuc.model.names import PLUGIN_CONFIG_LABEL
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.operands import pools_without_configuration
from gpuc.plan.replacement import nodes_of, nodes_text


@impact(
    "IMP123", Level.RESTRICTS, source="NVIDIA/k8s-device-plugin v0.20.0 cmd/config-manager/main.go (updateConfigName)"
)
def configuration_removed(change: Change) -> Impacts:
    """Running nodes name a configuration of the device plugin that no longer exists.

    The ConfigMap of the device plugin changes at once, and the nodes run until Karpenter replaces them. The device
    plugin of such a node works until it restarts. Then it does not find its configuration, and the node offers no GPUs
    to new pods. Running pods keep their GPUs.
    """
    seen = set()
    for pair, configuration in pools_without_configuration(change):
        name = pair.pool
        if name not in seen:
            seen.add(name)
            message = (
                f"configuration {configuration} of {nodes_text(nodes_of([pair]))} no longer exists; a node whose "
                "device plugin restarts offers no GPUs to new pods"
            )
            yield Raised(f"node pool {name}", message, pair.manifest, (*LABELS, PLUGIN_CONFIG_LABEL))
