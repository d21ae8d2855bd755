"""Checks whether the API server creates a workload, its jobs and its pods, before and after Kueue admits them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial

from msgspec.structs import replace

from gpuc.admission.limit_ranges import limit_range_decisions
from gpuc.admission.mutating import mutated
from gpuc.admission.other_webhooks import webhook_decisions
from gpuc.admission.pod_security import pod_security
from gpuc.admission.policies import Policies
from gpuc.admission.references import reference_decisions
from gpuc.admission.request import Decision, Request
from gpuc.admission.resource_quotas import quota_decisions
from gpuc.admission.rights import member_groups, rights
from gpuc.admission.validation import validation_errors, with_defaults
from gpuc.admission.validation.kueue import CHECK as KUEUE_WEBHOOK
from gpuc.admission.validation.kueue import ELASTIC
from gpuc.admission.validation.table import CONTROLLER
from gpuc.cluster.flavors import ResourceFlavor
from gpuc.cluster.namespace import namespaces
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import first_names
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, dig, items, pairs
from gpuc.trace.advice import for_local_queue
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.created import MEMBER, Creation, ephemeral_claims, object_creations, pod_creation, template_claims
from gpuc.trace.kueue_scope import has_elastic_jobs, is_gated, manages
from gpuc.trace.steps import Judgement, Stage, Step, Steps, all_failures
from gpuc.trace.workload import PodSet, Workload

_MAX_NAMES = 4
_FIELD: Path = ("metadata", "namespace")


def object_steps(cluster: ClusterIndex, workload: Workload, *, validates: bool = True) -> Steps:
    """Yields the results of creating a workload, and of creating the objects between the workload and its pods.

    For a Pod, these are all results of the creation of the pod.

    Args:
        validates: whether to include the validation of the objects' fields by the API server.
    """
    groups = member_groups(cluster.objects, workload.namespace)
    creations = list(object_creations(workload, groups, cluster.accounts))
    if workload.record.is_pod:
        pod = pod_creation(workload, workload.pod_sets[0], (), gated=is_gated(cluster, workload), accounts={})
        creations = [pod._replace(request=pod.request._replace(groups=groups))]
    yield from namespace_steps(cluster, workload)
    yield from _steps(Stage.RIGHTS, rights(cluster.objects, creations[0].request), ())
    for creation in creations:
        yield from _creation_steps(cluster, creation, (Stage.API, Stage.POLICY), "", validates)


def pod_steps(
    cluster: ClusterIndex,
    workload: Workload,
    pods: PodSet,
    flavors: Sequence[ResourceFlavor],
    *,
    validates: bool = True,
) -> Steps:
    """Yields the results of creating one pod of a pod set, and of creating the claims of the pod's volumes.

    For a Pod, these are only the results about the claims.

    Args:
        flavors: the ResourceFlavors with which Kueue starts the pod set.
        validates: whether to include the validation of the pod's fields by the API server.
    """
    for claim in template_claims(workload, pods):
        yield from _claim_steps(cluster, claim, pods.name)
    if not workload.record.is_pod:
        creation = _pod_creation(cluster, workload, pods, flavors)
        yield from _creation_steps(cluster, creation, (Stage.POD_API, Stage.POD_POLICY), pods.name, validates)
    for claim in ephemeral_claims(workload, pods):
        yield from _claim_steps(cluster, claim, pods.name)


def _claim_steps(cluster: ClusterIndex, claim: Creation, pods: str) -> Steps:
    """Yields the steps that create a PersistentVolumeClaim. Its template was validated with the pod."""
    request = _admitted(cluster, claim.request)
    yield from _steps(Stage.POD_POLICY, cluster.objects.once(Policies).decide(request), claim.path, pods)
    yield from _steps(Stage.POD_POLICY, webhook_decisions(cluster.objects, request), claim.path, pods)


def limit_steps(cluster: ClusterIndex, workload: Workload) -> Steps:
    """Yields the decisions of LimitRanges about each pod, and of ResourceQuotas about all objects and pods together.

    gpuc assumes that the namespace is empty.
    """
    objects = cluster.objects
    created = [] if workload.record.is_pod else list(object_creations(workload, (), cluster.accounts))
    requests = [(_admitted(cluster, creation.request), 1) for creation in created]
    for pods in workload.pod_sets:
        request = _admitted(cluster, _pod_creation(cluster, workload, pods, ()).request)
        yield from _steps(Stage.NAMESPACE, limit_range_decisions(objects, request), pods.path, pods.name)
        requests.append((request, pods.count * workload.copies))
        for claim in (*template_claims(workload, pods), *ephemeral_claims(workload, pods)):
            decisions = limit_range_decisions(objects, claim.request)
            yield from _steps(Stage.NAMESPACE, decisions, claim.path, pods.name)
            requests.append((claim.request, pods.count * workload.copies))
    for decision in quota_decisions(objects, workload.namespace, requests):
        path = workload.pod_sets[0].path if decision.field[:2] == ("spec", "containers") else ()
        yield from _steps(Stage.NAMESPACE, [decision], path)


def _pod_creation(
    cluster: ClusterIndex, workload: Workload, pods: PodSet, flavors: Sequence[ResourceFlavor]
) -> Creation:
    gated = is_gated(cluster, workload)
    return pod_creation(workload, pods, () if gated else flavors, gated=gated, accounts=cluster.accounts)


def _admitted(cluster: ClusterIndex, request: Request) -> Request:
    """Returns a request with the defaults of the API server and of the mutating admission."""
    return mutated(cluster.objects, request._replace(document=with_defaults(request.document)))


def _creation_steps(
    cluster: ClusterIndex, creation: Creation, stages: tuple[Stage, Stage], pods: str, validates: bool
) -> Steps:
    """Yields the steps that create one object. `stages` are the stage of its validation and that of the policies."""
    request = _admitted(cluster, creation.request)
    objects, steps = cluster.objects, partial(_steps, path=creation.path, pods=pods, part=creation.part)
    errors = list(_errors(cluster, request)) if validates else []
    if validates:
        kind = f"{request.document.get('kind')} {dig(request.document, 'metadata', 'name')}"
        valid = Decision("allowed", "API server", f"{kind} is valid")
        yield from steps(stages[0], [valid, *(error for error in errors if not error.check.startswith(CONTROLLER))])
    yield from steps(stages[1], cluster.objects.once(Policies).decide(request))
    yield from steps(stages[1], webhook_decisions(objects, request))
    yield from steps(Stage.POD_SECURITY, pod_security(objects, request))
    if validates:
        found = list(reference_decisions(objects, request))
        yield from steps(stages[0], [row for row in found if not row.check.startswith(CONTROLLER)])
        yield from steps(Stage.SUSPENDED, [row for row in errors + found if row.check.startswith(CONTROLLER)])


def _errors(cluster: ClusterIndex, request: Request) -> Iterator[Decision]:
    """Returns the errors of the API server and of the controllers' webhooks.

    Kueue's webhooks exist only for the kinds that Kueue manages. Only requests of users have strict field validation.
    """
    api_group, kind = str(request.document.get("apiVersion")).rpartition("/")[0], str(request.document.get("kind"))
    is_managed = manages(cluster, api_group, kind)
    document = request.document if has_elastic_jobs(cluster) else _without_elastic_annotation(request.document)
    errors = validation_errors(document, strict=request.user == MEMBER)
    return (decision for decision in errors if is_managed or decision.check != KUEUE_WEBHOOK)


def _without_elastic_annotation(document: Body) -> Body:
    if ELASTIC not in dict(pairs(dig(document, "metadata", "annotations"))):
        return document
    metadata = document["metadata"]
    others = {name: value for name, value in metadata["annotations"].items() if name != ELASTIC}
    return {**document, "metadata": {**metadata, "annotations": others}}


def _steps(stage: Stage, decisions: Iterable[Decision], path: Path = (), pods: str = "", part: Path = ()) -> Steps:
    """Yields a failed step for every denial; without denials, steps for what is unknown, assumed and allowed.

    Args:
        path: the path in the workload of the object that the decisions are about, or of a part of the object.
        part: this part; empty for the complete object.
    """
    places = ((decision, decision.field) for decision in decisions)
    made = [replace(row, field=field[len(part) :] if field[: len(part)] == part else ()) for row, field in places]
    if denied := [decision for decision in made if decision.outcome == "denied"]:
        yield from all_failures(_step(stage, decision, path, pods) for decision in denied)
        return
    for decision in made:
        if decision.outcome in ("assumed", "unknown"):
            yield _step(stage, decision, path, pods)
    warnings = [decision for decision in made if decision.outcome == "warned"]
    if warnings:
        message = "; ".join(f"{decision.check} warns: {decision.message}" for decision in warnings)
        first = warnings[0]
        yield Step(stage, "passed", message, first.manifest, first.path, pods, field=_place(path, first.field))
    elif allowed := [decision for decision in made if decision.outcome == "allowed"]:
        names = list(dict.fromkeys(decision.message or decision.check for decision in allowed))
        message = f"allowed by {first_names(names, _MAX_NAMES)}"
        if len(names) == 1 and allowed[0].message:
            message = names[0]
        yield Step(stage, "passed", message, allowed[0].manifest, allowed[0].path, pods)


def _step(stage: Stage, decision: Decision, path: Path, pods: str) -> Step:
    """Returns the step of a decision that does not allow the request."""
    named = ("API server", stage.value, str(decision.manifest))
    is_named = decision.check in named or decision.message.startswith(decision.check)
    message = decision.message if is_named else f"{decision.check}: {decision.message}"
    verdicts: dict[str, Judgement] = {"denied": "failed", "assumed": "assumed"}
    verdict = verdicts.get(decision.outcome, "unknown")
    field = _place(path, decision.field)
    reason = f"The containers start only if {decision.check} exists." if verdict == "assumed" else ""
    return Step(stage, verdict, message, decision.manifest, decision.path, pods, decision.fix, field, reason)


def _place(path: Path, field: Path) -> Path:
    """Returns the path in the workload of a field of an object, whose template is at `path`; empty if it is unknown."""
    return (*path, *field) if field else ()


def namespace_steps(cluster: ClusterIndex, workload: Workload) -> Steps:
    """Yields a result if the namespace of the workload does not exist, or perhaps does not exist; otherwise nothing.

    If the input does not have all objects of the cluster, gpuc assumes that every namespace exists.
    """
    objects, name = cluster.objects, workload.namespace
    if not objects.is_complete or name in namespaces(objects).created:
        return
    accounts = {account.partition("/")[0] for account in cluster.accounts.values()}
    if name and name in _named(objects) | accounts:
        message = f"gpuc does not create namespace {name}, so gpuc does not know its labels and objects"
        yield Step(Stage.API, "unknown", message, field=_FIELD)
        return
    message = f"namespace {name or '(none)'} does not exist"
    yield Step(Stage.API, "failed", message, fix=for_local_queue(cluster, workload), field=_FIELD)


@lru_cache(maxsize=4)
def _named(objects: ObjectSet) -> frozenset[str]:
    """Returns the namespaces that objects are in, that Applications and AppProjects name, or that may send traffic."""
    peers = [
        dig(peer, "namespaceSelector", "matchLabels", NAMESPACE_NAME)
        for policy in objects.of("networking.k8s.io", "NetworkPolicy")
        for _, rule in items(dig(policy.body, "spec", "ingress"))
        for _, peer in items(dig(rule, "from"))
    ]
    owners = (manifest.namespace for manifest in objects.manifests)
    return frozenset((*namespaces(objects).mentioned, *owners, *(peer for peer in peers if isinstance(peer, str))))
