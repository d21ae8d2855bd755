"""The checks of `gpuc lint`. Each folder has the checks of one topic. A check looks for mistakes in Kubernetes objects.

gpuc also runs the checks on manifests of users, and on its own output if a customization changes the output.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from functools import wraps

from gpuc import lint, verify
from gpuc.diagnostics.contract import EVERY_KIND, HELM_VALUES, PODS, Check, Checks, Needs, When
from gpuc.diagnostics.finding import Rule
from gpuc.manifest.manifest import Artifact, Manifest, Values
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, group
from gpuc.objects.pods import pods_of
from gpuc.verify.subject import Subject

Findings = Iterator[ObjectFinding]
CHECKS: Checks[ObjectSet, ObjectFinding] = Checks("gpuc.lint.checks")
rule_of = lint.rule_of
KUEUE_CONFIGURATION = ("ConfigMap", f"{HELM_VALUES}kueue")
"""The kinds that may have the configuration of Kueue's controller."""
POD_NEEDS = (
    "ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim", "apiextensions.k8s.io/*", "argoproj.io/*",
    "bitnami.com/*", "cert-manager.io/*", "external-secrets.io/*", "rbac.authorization.k8s.io/*",
    "readiness.node.x-k8s.io/*", "scheduling.k8s.io/*", "secrets-store.csi.x-k8s.io/*", "storage.k8s.io/*",
    "trust.cert-manager.io/*", f"{HELM_VALUES}gpu-operator",
)  # fmt: skip
"""The kinds of objects to which pods refer, and the kinds that create such objects."""
POLICIES = (
    "Namespace", "admissionregistration.k8s.io/*", "templates.gatekeeper.sh/*", "constraints.gatekeeper.sh/*",
    "expansion.gatekeeper.sh/*", "mutations.gatekeeper.sh/*", "config.gatekeeper.sh/*", "externaldata.gatekeeper.sh/*",
    "kyverno.io/*", "policies.kyverno.io/*", f"{HELM_VALUES}gatekeeper",
)  # fmt: skip
"""The kinds that decide what admission refuses or changes."""
QUEUES_AND_POOLS = ("kueue.x-k8s.io/*", "karpenter.sh/*", "karpenter.k8s.aws/*", "nfd.k8s-sigs.io/NodeFeatureRule")
"""The kinds that decide how much of a quota nodes can provide."""
NAMESPACE_LIMITS = ("Namespace", "LimitRange", "ResourceQuota")
"""The kinds that limit the pods of a namespace."""
ObjectCheck = Check[ObjectSet, ObjectFinding]


def check(
    *rules: Rule, needs: Needs = Needs.OBJECTS, kinds: tuple[str, ...] = EVERY_KIND
) -> Callable[[Callable[[ObjectSet], Findings]], ObjectCheck]:
    """Returns a decorator that registers a function as the check of rules, with the objects and kinds that it reads."""
    return CHECKS.finds(*rules, needs=needs, when=When.LINT, kinds=kinds)


def checks(*needs: Needs) -> list[ObjectCheck]:
    """Returns the checks of `gpuc lint`, without the checks of schemas, sorted by the first rule id.

    Args:
        needs: returns only checks with one of these needs; without this argument, all checks.
    """
    of_compile = [_of_objects(check) for check in verify.CHECKS.discover() if check.when is When.BOTH]
    found = sorted([*of_compile, *CHECKS.discover()], key=lambda check: check.rule.id)
    return [check for check in found if not needs or check.needs in needs]


def _of_objects(check: Check[Subject, ObjectFinding]) -> ObjectCheck:
    @wraps(check.find)
    def find(objects: ObjectSet) -> Findings:
        return check(Subject.of(objects))

    return Check(check.rules, find, check.needs, check.when, check.kinds)


def findings(objects: ObjectSet, changed: Container[str] | None = None) -> Findings:
    """Yields the findings of all checks of an object set, without the checks of schemas.

    Args:
        changed: the names of kinds that `changed_kinds` returns. Only checks that read one of these kinds run, because
            other checks have no new findings. None runs all checks.
    """
    for check in checks():
        if changed is None or check.reads(changed):
            yield from check(objects)


def changed_kinds(before: Iterable[Artifact], after: Iterable[Artifact]) -> frozenset[str]:
    """Returns the kinds of the objects and Helm values that differ, with the names that `kinds_of` yields.

    Args:
        before: the artifacts of a cluster.
        after: the same artifacts in the same order, some of them with other content.
    """
    pairs = zip(before, after, strict=True)
    return frozenset(kind for pair in pairs if pair[0] != pair[1] for item in pair for kind in kinds_of(item))


def kinds_of(artifact: Artifact) -> Iterator[str]:
    """Yields the names with which checks declare that they read an artifact, for example "karpenter.sh/*"."""
    yield from EVERY_KIND
    if isinstance(artifact, Manifest):
        api_group = group(artifact)
        yield from (f"{api_group}/{artifact.kind}", f"{api_group}/*") if api_group else (artifact.kind,)
        if any(pods_of(artifact)):
            yield PODS
    elif isinstance(artifact, Values):
        yield HELM_VALUES + artifact.component
