from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.namespace_limits import limit_changes


@impact("IMP257", Level.NONE, source="k8s.io/apiserver v0.35.4 pkg/admission/plugin/resourcequota/controller.go")
def namespace_quota_grows(change: Change) -> Impacts:
    """The ResourceQuota of a namespace grows.

    The API server admits more pods in the namespace. Pods that run are not disturbed.
    """
    for limits in limit_changes(change, smaller=False):
        yield limits.raised()
