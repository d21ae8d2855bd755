from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.verify import check
from gpuc.verify.references.reference import ANY_NAMESPACE, TYPED, Reference

if TYPE_CHECKING:
    from gpuc.objects.object_finding import ObjectFinding
    from gpuc.verify.subject import Subject

_KUEUE = "kueue.x-k8s.io"
_CONSTRAINTS = "constraints.gatekeeper.sh"
_LOCAL = f"{_KUEUE}/LocalQueue"
_CLASS = f"{_KUEUE}/WorkloadPriorityClass"


@check("REF010", source="https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/")
def unknown_target(subject: Subject) -> Iterator[ObjectFinding]:
    """A scaler, route, webhook or policy refers to an object that does not exist.

    The scaler, route, webhook or policy has no effect. Only its status, or an error of clients, shows the reason.
    """
    return subject.unresolved(unknown_target.rule)


_RULE = unknown_target.rule
ROWS = (
    Reference(f"{_CONSTRAINTS}/GpucQueueRequired", "spec.parameters.queues[].queues[]", _LOCAL, _RULE, ANY_NAMESPACE),
    Reference(f"{_CONSTRAINTS}/GpucQueueRequired", "spec.parameters.priorities[]", _CLASS, _RULE),
    Reference(f"{_CONSTRAINTS}/GpucQueueRequired", "spec.parameters.pools[].pool", "karpenter.sh/NodePool", _RULE),
    Reference(f"{_CONSTRAINTS}/GpucGpuQuota", "spec.parameters.pools[].pool", "karpenter.sh/NodePool", _RULE),
    Reference(f"{_CONSTRAINTS}/GpucMpsClients", "spec.parameters.pools[].pool", "karpenter.sh/NodePool", _RULE),
    Reference(f"{_CONSTRAINTS}/GpucGpuQueue", "spec.parameters.gpuQueues[]", _LOCAL, _RULE, ANY_NAMESPACE),
    Reference(f"{_CONSTRAINTS}/GpucGpuQueue", "spec.parameters.cpuQueues[]", _LOCAL, _RULE, ANY_NAMESPACE),
    Reference(f"{_CONSTRAINTS}/GpucPoolSelector", "spec.parameters.pools[]", "karpenter.sh/NodePool", _RULE),
    Reference(
        f"{_CONSTRAINTS}/GpucPoolSelector",
        "spec.parameters.choices[].pools[]",
        "karpenter.sh/NodePool",
        _RULE,
    ),
    Reference(f"{_CONSTRAINTS}/GpucGpuLimits", "spec.parameters.limits[].pool", "karpenter.sh/NodePool", _RULE),
    Reference(
        f"{_CONSTRAINTS}/GpucNcclProfile",
        "spec.parameters.profiles[].configMap",
        "ConfigMap",
        _RULE,
        "namespace",
    ),
    Reference("autoscaling/HorizontalPodAutoscaler", "spec.scaleTargetRef", TYPED, _RULE),
    Reference("keda.sh/ScaledObject", "spec.scaleTargetRef", TYPED, _RULE),
    Reference("autoscaling.k8s.io/VerticalPodAutoscaler", "spec.targetRef", TYPED, _RULE),
    Reference("networking.k8s.io/Ingress", "spec.defaultBackend.service.name", "Service", _RULE),
    Reference("networking.k8s.io/Ingress", "spec.rules[].http.paths[].backend.service.name", "Service", _RULE),
    Reference("trainer.kubeflow.org/TrainJob", "spec.runtimeRef", TYPED, _RULE),
)
"""The fields of the references that the check covers."""
