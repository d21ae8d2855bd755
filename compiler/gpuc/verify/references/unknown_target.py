from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.verify import check
from gpuc.verify.references.reference import ANYWHERE, SAID, Reference

if TYPE_CHECKING:
    from gpuc.objects.object_finding import ObjectFinding
    from gpuc.verify.subject import Subject

_KUEUE = "kueue.x-k8s.io"
_CONSTRAINTS = "constraints.gatekeeper.sh"
_LOCAL = f"{_KUEUE}/LocalQueue"
_CLASS = f"{_KUEUE}/WorkloadPriorityClass"


@check("REF010", source="https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/")
def unknown_target(subject: Subject) -> Iterator[ObjectFinding]:
    """A scaler, route, webhook or policy points at an object that does not exist.

    It does nothing and says so only in its own status, or in its callers' errors.
    """
    return subject.unresolved(unknown_target.rule)


_FAULT = unknown_target.rule
ROWS = (
    Reference(f"{_CONSTRAINTS}/GpucQueueRequired", "spec.parameters.queues[]", _LOCAL, _FAULT, ANYWHERE),
    Reference(f"{_CONSTRAINTS}/GpucQueueRequired", "spec.parameters.priorities[]", _CLASS, _FAULT),
    Reference(f"{_CONSTRAINTS}/GpucGpuQueue", "spec.parameters.gpuQueues[]", _LOCAL, _FAULT, ANYWHERE),
    Reference(f"{_CONSTRAINTS}/GpucGpuQueue", "spec.parameters.cpuQueues[]", _LOCAL, _FAULT, ANYWHERE),
    Reference(f"{_CONSTRAINTS}/GpucPoolSelector", "spec.parameters.pools[]", "karpenter.sh/NodePool", _FAULT),
    Reference(
        f"{_CONSTRAINTS}/GpucPoolSelector",
        "spec.parameters.choices[].pools[]",
        "karpenter.sh/NodePool",
        _FAULT,
    ),
    Reference(f"{_CONSTRAINTS}/GpucGpuLimits", "spec.parameters.limits[].pool", "karpenter.sh/NodePool", _FAULT),
    Reference(
        f"{_CONSTRAINTS}/GpucNcclProfile",
        "spec.parameters.profiles[].configMap",
        "ConfigMap",
        _FAULT,
        "namespace",
    ),
    Reference("autoscaling/HorizontalPodAutoscaler", "spec.scaleTargetRef", SAID, _FAULT),
    Reference("keda.sh/ScaledObject", "spec.scaleTargetRef", SAID, _FAULT),
    Reference("autoscaling.k8s.io/VerticalPodAutoscaler", "spec.targetRef", SAID, _FAULT),
    Reference("networking.k8s.io/Ingress", "spec.defaultBackend.service.name", "Service", _FAULT),
    Reference("networking.k8s.io/Ingress", "spec.rules[].http.paths[].backend.service.name", "Service", _FAULT),
    Reference("trainer.kubeflow.org/TrainJob", "spec.runtimeRef", SAID, _FAULT),
)
"""Every place at which an object names one."""
