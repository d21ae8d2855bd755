from collections.abc import Iterator

from gpuc.kubernetes.amounts import amount, rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.namespace_limits import LimitChange, limit_changes, requested


@impact("IMP256", Level.RESTRICTS, source="k8s.io/apiserver v0.35.4 pkg/admission/plugin/resourcequota/controller.go")
def namespace_quota_shrinks(change: Change) -> Impacts:
    """The ResourceQuota of a namespace shrinks.

    Pods that run continue. The API server refuses new pods while the requests in the namespace are above the quota,
    also pods that replace pods of a running job.
    """
    for one in limit_changes(change, smaller=True):
        message = f"the ResourceQuota allows {', '.join(one.texts)}{one.namespaces}"
        details = (
            "pods that run continue; while their requests are above the quota, the API server refuses new pods, also "
            "those that replace pods of running jobs",
            *(text for pair in one.pairs for text in _above(change, pair)),
        )
        yield Raised(one.owner, message, one.pairs[0].after, one.path, details, tuple(_predictions(change, one)))


def _predictions(change: Change, one: LimitChange) -> Iterator[Prediction]:
    """Yields a refusal for each namespace. In a namespace with a LocalQueue, it depends on the pods without a queue."""
    queued = {local.namespace for local in change.before.objects.of(GROUP, "LocalQueue")}
    for pair in one.pairs if one.has_gpus else ():
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
