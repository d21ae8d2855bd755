from gpuc.plan.change import Change, grouped
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.tenant_changes import pruned_in_namespaces

_PREFIX = "nccl-"


@impact("IMP258", Level.DISRUPTS, source="kubernetes v1.35.4 pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables")
def nccl_profile_removed(change: Change) -> Impacts:
    """A namespace loses the ConfigMap of an NCCL profile.

    Containers that run continue. A container that reads the ConfigMap with envFrom does not start any more, also the
    container of a running job that starts again.
    """
    removed = [pair for pair in pruned_in_namespaces(change, "ConfigMap") if pair.name.startswith(_PREFIX)]
    for name, pairs in grouped(removed, lambda pair: pair.name).items():
        namespaces = ", ".join(pair.manifest.namespace for pair in pairs)
        message = f"ConfigMap {name} is removed from {namespaces}: containers that read it do not start any more"
        details = ("containers that run continue; pods of running jobs that are created again fail to start",)
        yield Raised(f"NCCL profile {name.removeprefix(_PREFIX)}", message, pairs[0].before, (), details)
