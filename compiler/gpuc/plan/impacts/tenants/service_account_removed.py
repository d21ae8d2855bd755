from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.queue_usage import users_text
from gpuc.plan.tenant_changes import pruned_in_namespaces
from gpuc.trace.workload import workload_of


@impact(
    "IMP261",
    Level.DISRUPTS,
    source="kubernetes v1.35.4 plugin/pkg/admission/serviceaccount/admission.go; "
    "pkg/serviceaccount/claims.go, Validate",
)
def service_account_removed(change: Change) -> Impacts:
    """A ServiceAccount of a namespace that stays is removed.

    The API server refuses new pods that name the ServiceAccount, also pods that replace pods of running jobs. The
    tokens of pods that run are not valid any more, so that these pods lose access to the API server and
    cannot renew their AWS credentials.
    """
    for pair in pruned_in_namespaces(change, "ServiceAccount"):
        message = f"ServiceAccount {pair.name} is removed: pods that name it are refused, and pods that run lose access"
        details = (
            "pods of running jobs that are created again are refused, too",
            *users_text("that name it", _users(change, pair)),
        )
        yield Raised(f"namespace {pair.manifest.namespace}", message, pair.before, (), details)


def _users(change: Change, pair: Pair) -> list[Manifest]:
    """Returns the objects of --workloads whose pods name the ServiceAccount."""
    found = []
    for manifest in change.workloads:
        workload = workload_of(manifest) if manifest.namespace == pair.manifest.namespace else None
        names = {dig(pods.pod, "serviceAccountName") for pods in workload.pod_sets} if workload else set()
        if pair.name in names:
            found.append(manifest)
    return found
