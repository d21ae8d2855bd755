from gpuc.kubernetes.kueue import POD_FRAMEWORKS
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.kueue_configuration import FRAMEWORKS, ConfigurationChange, configuration_changes


@impact(
    "IMP234",
    Level.DISRUPTS,
    source="kueue v0.19.2 pkg/controller/jobframework/reconciler.go, ensureOneWorkload (no matching Workload); "
    "pkg/controller/jobs/pod/pod_webhook.go, Default",
)
def framework_added(change: Change) -> Impacts:
    """Kueue manages another kind of jobs.

    Kueue suspends a job that runs without a Workload, and starts it when a queue has quota for it. The pods of the job
    end. Pods, Deployments and StatefulSets that run are not disturbed: Kueue manages pods that are created from then
    on.
    """
    for found in configuration_changes(change):
        if added := found.frameworks(added=True):
            yield found.raised(_message(found, added), *FRAMEWORKS, details=_details(found, added))


def _message(found: ConfigurationChange, added: list[str]) -> str:
    names = ", ".join(added)
    jobs = [name for name in added if name not in POD_FRAMEWORKS]
    if not jobs:
        return f"Kueue manages {names}: new pods with a queue wait until the queue has quota"
    which = "of tenants " if found.after.get("manageJobsWithoutQueueName") else "with a queue "
    return f"Kueue manages {names}: it suspends jobs {which}that run, until a queue has quota for them"


def _details(found: ConfigurationChange, added: list[str]) -> list[str]:
    before, after = found.values("manageJobsWithoutQueueName")
    texts = []
    if any(name in POD_FRAMEWORKS for name in added):
        texts.append("pods that run already are not counted in a queue; Kueue counts the pods that replace them")
    if before and not after:
        texts.append("Kueue does not suspend jobs without a queue any more: the policy queue-required must do it")
    return texts
