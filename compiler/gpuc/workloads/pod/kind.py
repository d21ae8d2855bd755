"""The record of Pods.

Source: k8s.io/api v0.35 core/v1
"""

from __future__ import annotations

from gpuc.kubernetes.kueue import POD
from gpuc.manifest.manifest import Body
from gpuc.parts.workload_kind import (
    AT_ONCE,
    LABELS,
    PodLabels,
    Queueing,
    WorkloadKind,
    no_pods,
    no_rule,
    sample,
    sample_template,
)


def _sample(queue: str) -> Body:
    return sample("v1", "Pod", queue, sample_template("Never")["spec"])


KINDS = (
    WorkloadKind(
        group="",
        kind="Pod",
        version="v1",
        templates=("",),
        pod_set=lambda _, __: ("main", 1),
        further_pods=no_pods,
        queueing=Queueing(POD, 8, holds_pods=True, is_pod_group=False, is_per_replica=False, labels=(LABELS,)),
        controller=None,
        child=None,
        labels=PodLabels({}, ()),
        start=AT_ONCE,
        claims=(),
        keeps_data=False,
        is_scaled=False,
        has_service=False,
        is_expanded=False,
        why_not_traced="",
        placement=no_rule,
        sample=_sample,
    ),
)
