from gpuc.model.names import TENANT_KEY
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.kueue_configuration import FRAMEWORKS, VALUES


@impact(
    "IMP239",
    Level.DISRUPTS,
    source="kueue v0.19.2 pkg/controller/jobframework/reconciler.go, ReconcileGenericJob and ensureOneWorkload",
)
def kueue_added(change: Change) -> Impacts:
    """The cluster gets Kueue while tenants already run workloads.

    Kueue suspends jobs that run in the namespaces of tenants, and starts them when a queue has quota for them. A job
    without a queue stays suspended.
    """
    pair = change.values_of("kueue")
    if (
        pair
        and pair.is_added
        and any(TENANT_KEY in space.labels for space in change.before.objects.of("", "Namespace"))
    ):
        configuration = document(change.after.objects, pair.values(*VALUES)[1])
        names = ", ".join(str(name) for name in dig(configuration, *FRAMEWORKS) or ())
        message = f"Kueue starts to manage {names}: it suspends jobs that run in the namespaces of tenants"
        details = ("a job starts again when a queue has quota for it; set kueue.x-k8s.io/queue-name before the change",)
        manifest, path = (None, ("spec", "queues")) if change.after.source else (pair.after, ())
        yield Raised("component kueue", message, manifest, path, details)
