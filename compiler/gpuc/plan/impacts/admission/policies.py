"""Impacts on admission policies and Pod Security levels, and on the objects and workloads that are refused."""

from collections.abc import Iterator

from gpuc.admission.pod_security import LEVELS
from gpuc.admission.policies import Policies
from gpuc.admission.request import Decision, Request
from gpuc.kubernetes.controllers import user
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Change, Pair, changed
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact, workloads_of
from gpuc.plan.policy_changes import (
    PolicyChange,
    by_policy,
    perhaps_refused,
    policy_changes,
    policy_data_changes,
    policy_settings,
    template_changes,
)
from gpuc.plan.refused_workloads import by_decision, named, refused_templates, refused_workloads


@impact("IMP301", Level.RESTRICTS)
def policy_stricter(change: Change) -> Impacts:
    """An admission policy begins to refuse violations: it is new with stage deny, or its stage rises to deny."""
    stricter = (policy for policy in policy_changes(change) if policy.is_stricter and policy.after == "deny")
    for found in by_policy(stricter):
        message = f"stage {found[0].stages}: the API server refuses violations"
        yield found[0].raised(message, _refused_counts(change, found), perhaps_refused(change, ()))


def _refused_counts(change: Change, found: list[PolicyChange]) -> Iterator[str]:
    """Yields how many workloads and templates the policy would refuse. Other impacts name them."""
    deciding = [policy.pair.after for policy in found]
    for noun, refused, other in (
        ("object{} of --workloads", refused_workloads(change), "IMP305"),
        ("workload template{}", refused_templates(change), "IMP306"),
    ):
        if count := sum(workload.step.manifest in deciding for workload in refused):
            yield f"it would refuse {count} {noun.format('' if count == 1 else 's')}, see {other}"


@impact("IMP302", Level.NONE)
def policy_weaker(change: Change) -> Impacts:
    """The stage of an admission policy falls, for example from deny to warn, or a policy is removed."""
    for first, *_ in by_policy(policy for policy in policy_changes(change) if policy.is_weaker):
        lost = "violations are allowed" if first.before == "deny" else "violations get no warning"
        yield first.raised(f"stage {first.stages}: {lost}")


@impact("IMP310", Level.NONE)
def policy_warns(change: Change) -> Impacts:
    """An admission policy begins to warn about violations: it is new with stage warn, or its stage rises to warn."""
    stricter = (policy for policy in policy_changes(change) if policy.is_stricter and policy.after == "warn")
    for first, *_ in by_policy(stricter):
        yield first.raised(f"stage {first.stages}: violations get a warning")


@impact("IMP303", Level.RESTRICTS)
def policy_settings_change(change: Change) -> Impacts:
    """A policy with the stage deny refuses more, because its settings or its selection of objects changes."""
    yield from policy_settings(change, "deny", refuses_more=True, effect="; the API server refuses violations")
    for pair in policy_data_changes(change):
        yield _policy_raised(pair, "its limits, members or checked namespaces change")


@impact("IMP309", Level.NONE)
def policy_settings_relax(change: Change) -> Impacts:
    """A policy allows more, or warns about more, because its settings change."""
    for stage in ("warn", "deny"):
        yield from policy_settings(change, stage, refuses_more=False)
    yield from policy_settings(change, "warn", refuses_more=True, effect="; violations get a warning")


@impact("IMP304", Level.RESTRICTS)
def policy_expressions_change(change: Change) -> Impacts:
    """The expressions of an admission policy change. They decide what the policy refuses."""
    for pair in template_changes(change):
        policy = pair.values("spec", "failurePolicy")[1] or "Fail"
        is_own = all(field.path == ("spec", "failurePolicy") for field in pair.fields)
        yield _policy_raised(pair, f"its failurePolicy becomes {policy}" if is_own else "its expressions change")


def _policy_raised(pair: Pair, message: str) -> Raised:
    """Returns an impact at the first changed field of the expressions or the data of a policy."""
    path = next(field.path for field in pair.fields if field.is_below("spec"))
    return pair.raised(message, path)._replace(subject=f"policy {pair.name}")


@impact("IMP307", Level.RESTRICTS)
def pod_security_rises(change: Change) -> Impacts:
    """The Pod Security level that a namespace enforces rises."""
    yield from _level_changes(change, rises=True)


@impact("IMP308", Level.NONE)
def pod_security_falls(change: Change) -> Impacts:
    """The Pod Security level that a namespace enforces falls."""
    yield from _level_changes(change, rises=False)


_ARGO_CD = "argocd/argocd-application-controller"
"""The ServiceAccount that applies objects, in the manifests of Argo CD.

Source: argo-cd v3.5.1 manifests/install.yaml
"""


@impact("IMP313", Level.DISRUPTS)
def change_refused(change: Change) -> Impacts:
    """A policy of the cluster refuses an object of this change, so the sync of an Application fails."""
    policies = change.after.objects.once(Policies)
    written = (pair for pair in change.all_pairs if pair.after and pair.fields and pair.after.namespace)
    decisions = ((pair, _denied(policies, pair.manifest)) for pair in written)
    refused = [(pair, decision) for pair, decision in decisions if decision]
    by_policy = grouped(refused, lambda row: row[1].manifest.kind if row[1].manifest else row[1].check)
    for rows in by_policy.values():
        pair, decision = rows[0]
        application = change.after.application_of(pair.manifest)
        failing = f", and the sync of Application {application.name} fails" if application else ""
        others = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        message = f"{decision.check} refuses the change of {pair.manifest}{others}{failing}: {decision.message}"
        predicts = (Prediction(f"object {other.manifest}", "refused") for other, _ in rows)
        yield pair.raised(message, pair.fields[0].path, (), predicts)._replace(
            subject=f"{pair.manifest.kind} {pair.name}"
        )


def _denied(policies: Policies, manifest: Manifest) -> Decision | None:
    """Returns the first decision that refuses an object; None if no policy refuses it."""
    request = Request(manifest.document(), user(_ARGO_CD))
    return next((decision for decision in policies.decide(request) if decision.outcome == "denied"), None)


@impact("IMP305", Level.RESTRICTS)
def workload_refused(change: Change) -> Impacts:
    """A workload in the files of the option --workloads would not start again after the change."""
    workloads = grouped(refused_workloads(change), lambda workload: workload.manifest.namespace)
    for namespace, refused in workloads.items():
        for found in by_decision(refused):
            first, (names, others) = found[0], named(found)
            message = f"{names} {_VERBS[first.outcome][0]}: {first.reason}"
            predicts = workloads_of("namespace", [namespace] if first.verdict == "refused" else [], "refused")
            yield Raised(f"namespace {namespace}", message, first.step.manifest, first.step.path, others, predicts)


@impact("IMP306", Level.RESTRICTS)
def template_refused(change: Change) -> Impacts:
    """A workload template, which users copy, no longer works: the cluster refuses copies or has no node for them."""
    for found in by_decision(refused_templates(change)):
        first, (names, others) = found[0], named(found)
        message = f"copies of {names} {_VERBS[first.outcome][1]} now: {first.reason}"
        yield Raised("workload templates", message, first.step.manifest or first.manifest, first.step.path, others)


_VERBS = {
    "suspended": ("would stay suspended if created again", "stay suspended"),
    "refused": ("would be refused if created again", "are refused"),
    "pending": ("would find no node if started again", "find no node"),
}
"""What happens to workloads that run, and to copies of templates, by the outcome."""
LABEL = "pod-security.kubernetes.io/enforce"


def _level_changes(change: Change, *, rises: bool) -> Iterator[Raised]:
    """Yields an impact for each namespace of both states whose level rises, or falls."""
    for level in changed(change.pairs("", "Namespace"), ("metadata", "labels", LABEL), LEVELS[0]):
        is_known = {level.before, level.after} <= set(LEVELS)
        if is_known and (LEVELS.index(level.after) > LEVELS.index(level.before)) == rises:
            yield level.raised(f"enforces Pod Security level {level.after} instead of {level.before}")
