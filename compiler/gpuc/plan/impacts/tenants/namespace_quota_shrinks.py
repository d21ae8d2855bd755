from collections.abc import Iterator

from gpuc.kubernetes.amounts import amount, rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, impact
from gpuc.plan.namespace_limits import LimitChange, limit_changes, requested


@impact("IMP256", Level.RESTRICTS, source="k8s.io/apiserver v0.35.4 pkg/admission/plugin/resourcequota/controller.go")
def namespace_quota_shrinks(change: Change) -> Impacts:
    """The ResourceQuota of a namespace shrinks.

    Pods that run continue. The API server refuses new pods while the requests in the namespace are above the quota,
    also pods that replace pods of a running job.
    """
    for limits in limit_changes(change, smaller=True):
        details = (
            "pods that run continue; while their requests are above the quota, the API server refuses new pods, also "
            "those that replace pods of running jobs",
            *(text for pair in limits.pairs for text in _above(change, pair)),
        )
        yield limits.raised(details, tuple(_predictions(change, limits)))


def _predictions(change: Change, limits: LimitChange) -> Iterator[Prediction]:
    """Yields a refusal for each namespace. In a namespace with a LocalQueue, it depends on the pods without a queue."""
    queued = {local.namespace for local in change.before.objects.of(GROUP, "LocalQueue")}
    for pair in limits.pairs if limits.has_gpus else ():
        outcome = "perhaps refused" if pair.manifest.namespace in queued else "refused"
        yield Prediction(f"workloads of namespace {pair.manifest.namespace}", outcome)


def _above(change: Change, pair: Pair) -> Iterator[str]:
    """Yields a sentence for each resource of which the objects of --workloads request more than the new quota."""
    namespace = pair.manifest.namespace
    total = requested(change, namespace) if change.workloads else {}
    for name, count in total.items():
        limit = amount(name, dig(pair.values("spec", "hard")[1], f"requests.{name}"))
        if limit is not None and count > limit:
            allowed = rounded(name, limit)
            yield f"the objects of --workloads in {namespace} request {rounded(name, count)}, above {allowed}"
