"""Two autoscalers that scale the same workload.

Source: k8s.io/kubernetes v1.35.4 pkg/controller/podautoscaler/horizontal.go (AmbiguousSelector); kedacore/keda commit
01305c8 apis/keda/v1alpha1/scaledobject_webhook.go (verifyHpas, verifyScaledObjects)
"""

import posixpath
from itertools import chain

from gpuc.cluster.index import Index
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, home_namespace
from gpuc.trace.user_objects import HPA, KEDA, TRANSFER, scaled

TWO_AUTOSCALERS = rule_of("OBJ025")


@check(TWO_AUTOSCALERS, kinds=("autoscaling/*", "keda.sh/*", "argoproj.io/*"))
def findings(objects: ObjectSet) -> Findings:
    """Yields a finding for every further autoscaler of a workload in one file; other files may be alternatives.

    All files of a folder that an Application syncs are in the cluster together.
    """
    delivered = objects.once(Index).delivery.delivered
    first: dict[tuple[str, ...], Manifest] = {}
    for scaler in chain(objects.of(*HPA), objects.of(*KEDA)):
        target = scaled(scaler)
        if not all(isinstance(value, str) for value in target) or scaler.annotations.get(TRANSFER) is not None:
            continue
        folder = posixpath.dirname(scaler.file)
        place = "" if objects.is_complete else folder if folder in delivered else scaler.file
        other = first.setdefault((place, home_namespace(scaler), *map(str, target)), scaler)
        if other is not scaler and (other.kind, other.name) != (scaler.kind, scaler.name):
            message = f"{other} scales the same {target[1]} {target[2]}, and each undoes what the other does"
            yield ObjectFinding(TWO_AUTOSCALERS, scaler, ("spec", "scaleTargetRef"), message)
