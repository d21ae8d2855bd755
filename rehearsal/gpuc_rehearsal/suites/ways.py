"""Test cases in which members of a tenant try to get around a policy, with the answers of the API server.

Each row of ways.yaml is such a request. It sets a field, or creates an object, that could have an effect which a policy
prevents. The requests run in one namespace of a cluster, as dry runs.
"""

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, convert, field

from gpuc.customize.merge import merge_patch
from gpuc.documents.reader import load_yaml
from gpuc.kubernetes.resource_name import plural
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.client import MERGE_PATCH, STRATEGIC_PATCH, Client, Object, address_of, new_object
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.outcome import Outcome
from gpuc_rehearsal.sample_namespaces import SampleNamespaces
from gpuc_rehearsal.sample_workloads import WorkloadFactory, creator, factories
from gpuc_rehearsal.suites import Case, sending
from gpuc_rehearsal.suites.jobs import NO_CONTROLLER
from gpuc_rehearsal.suites.policies import emitted_name, origin, policy_outcome

TABLES = sorted(Path(__file__).parents[1].rglob("ways.yaml"))
_LEVELS = ("privileged", "baseline", "restricted")
_CREATED = ("binding", "eviction", "proxy", "token")
"""Subresources of requests that create an object. Requests for other subresources change one."""
_SAMPLES = {"pod": "v1 Pod", "gpu pod": "v1 Pod", "job": "batch/v1 Job", "deployment": "apps/v1 Deployment"}
"""apiVersion and kind of the objects that rows name by one word."""
_LABELS = {"matchLabels": {"app": "rehearsal"}}


class Way(Struct, frozen=True, forbid_unknown_fields=True, rename={"fields": "with", "user": "as"}):
    """A way around a policy: one row of ways.yaml. The first lines of this file explain the keys."""

    policy: str
    way: str
    answer: Literal["policy", "rights", "server", "allowed"]
    of: str = "pod"
    fields: Object = field(default_factory=dict)
    main: Object = field(default_factory=dict)
    change: Object | None = None
    options: Object | UnsetType = UNSET
    subresource: str = ""
    user: str = ""
    by: str = ""
    because: str = ""
    level: str = ""
    says: str = ""
    source: str = ""

    @property
    def verb(self) -> str:
        """The verb of the request in RBAC: create, patch or delete."""
        if self.options is not UNSET:
            return "delete"
        return "create" if self.change is None or self.subresource in _CREATED else "patch"

    @property
    def kind(self) -> tuple[str, str]:
        """The apiVersion and the kind of the object that the request creates, patches or deletes."""
        api, _, kind = _SAMPLES.get(self.of, self.of).partition(" ")
        return api, kind


@cache
def ways() -> tuple[Way, ...]:
    """Returns the ways around policies, one for each row of the files ways.yaml: of this folder and of substrates."""
    return tuple(way for table in TABLES for way in convert(load_yaml(table.read_text(encoding="utf-8")), list[Way]))


def sample(factory: WorkloadFactory, way: Way, name: str) -> Object:
    """Returns the object of a Way, one row of ways.yaml, in the namespace of a factory that has a GPU pool."""
    document = _base(factory, way, f"way-{name}")
    if way.main and way.change is None:
        main, *others = document["spec"]["containers"]
        document["spec"]["containers"] = [_merged(main, _named(factory, way.main)), *others]
    merged: Object = _merged(document, _named(factory, way.fields))
    return merged


def change(factory: WorkloadFactory, way: Way) -> Object:
    """Returns the patch of a Way, one row of ways.yaml; empty if the request of the Way is no patch."""
    patch: Object = _named(factory, way.change or {})
    return patch | ({"spec": {"containers": [{"name": "main", **way.main}]}} if way.main else {})


def applies(factory: WorkloadFactory, namespaces: SampleNamespaces, way: Way) -> bool:
    """Returns whether the cluster can run a Way: it has the policies, the kind and the elements, such as a queue."""
    names, served = set(_names(factory)), namespaces.serves_group(way.kind[0].rpartition("/")[0])
    used = {text for text in ("$pool", "$other", "$gpu", "$queue") if text in str((way.fields, way.change, way.main))}
    return {way.policy, way.by or way.policy} <= set(namespaces.emitted) and used <= names and served


def chosen_factory(cluster: Cluster) -> WorkloadFactory | None:
    """Returns a factory for a namespace that has editors and a GPU pool, preferably with a GPU queue; else None."""
    found = (row for row in factories(cluster) if row.tenant.editors(row.namespace) and row.gpu_pools)
    return min(found, key=lambda row: not any(row.queues.values()), default=None)


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields a test case for each Way, one row of ways.yaml, that the cluster can run."""
    factory, namespaces = chosen_factory(spec.cluster), SampleNamespaces(spec.cluster)
    for number, way in enumerate(ways()):
        if factory is not None and applies(factory, namespaces, way):
            name = f"{factory.namespace.name} {way.policy}: {way.way}"
            yield Case(
                "ways", name, origin(spec.cluster, way.policy), _expected(factory, way), _action(factory, way, number)
            )


def _action(factory: WorkloadFactory, way: Way, number: int) -> Any:
    document = sample(factory, way, str(number))
    user = "" if way.user == "member" else way.user or creator(factory, document)
    group = "system:masters" if user else factory.tenant.editors(factory.namespace)[0]

    def send(client: Client) -> None:
        api, kind, name, namespace = address_of(document)
        if way.verb == "delete":
            client.request(
                "DELETE", client.path(api, kind, namespace, name), {"dryRun": ["All"], **(way.options or {})}
            )
        elif way.verb == "patch":
            path = client.path(api, kind, namespace, name, way.subresource)
            # A merge patch would replace the list of containers.
            form = STRATEGIC_PATCH if way.main else MERGE_PATCH
            client.request("PATCH", path, change(factory, way), {"dryRun": "All"}, form)
        elif way.subresource:
            client.request("POST", client.path(api, kind, namespace, name, way.subresource), {}, {"dryRun": "All"})
        else:
            client.create(document, dry_run=True)

    def action(context: RehearsalContext) -> Outcome:
        exists = way.verb != "create" and way.answer != "rights"
        if exists:
            context.client.with_user(creator(factory, document)).create(document)
        try:
            return sending(send, user or f"member-of-{factory.tenant.name}", group)(context)
        finally:
            if exists:
                context.client.delete_object(document)

    return action


def _expected(factory: WorkloadFactory, way: Way) -> Outcome:
    cluster, level = factory.cluster, factory.namespace.spec.pod_security
    if way.answer == "rights":
        api, kind = way.kind
        resource = "/".join(filter(None, (plural(api.rpartition("/")[0], kind), way.subresource)))
        return Outcome("refused", by="API server", message=f'cannot {way.verb} resource "{resource}"')
    if way.level and _LEVELS.index(level) >= _LEVELS.index(way.level):
        return Outcome("refused", by="API server", message=f'violates PodSecurity "{level}')
    if way.answer == "policy":
        policy = way.by or way.policy
        return policy_outcome(cluster.policy_stage(policy), way.says or emitted_name(factory, policy))
    return Outcome("admitted") if way.answer == "allowed" else Outcome("refused", by="API server", message=way.says)


def _base(factory: WorkloadFactory, way: Way, name: str) -> Any:
    if way.of in ("pod", "gpu pod"):
        return factory.default_pod(name) if way.of == "gpu pod" else factory.pod(name)
    if way.of == "job":
        job = factory.queued_job(name, _names(factory).get("$queue", ""))
        return _merged(job, {"spec": {"managedBy": NO_CONTROLLER}})  # so that it neither gets pods nor ends
    if way.of == "deployment":
        pod = factory.pod(name)
        template = {"metadata": {"labels": _LABELS["matchLabels"]}, "spec": pod["spec"] | {"restartPolicy": "Always"}}
        spec = {"replicas": 0, "selector": _LABELS, "template": template}
        return {**pod, "apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    return new_object(*way.kind, f"rehearsal-{name}", factory.namespace.name)


def _merged(document: Object, patch: Object) -> Any:
    return merge_patch(document, patch, lambda _: None)


def _names(factory: WorkloadFactory) -> dict[str, str]:
    """Returns the values of the names in rows. A name is missing if the namespace has no such element."""
    pool = next(iter(factory.gpu_pools))
    queue = next((name for name, has_gpus in factory.queues.items() if has_gpus), "")
    other = next((pool.name for pool in factory.cluster.pools if pool not in factory.tenant.pools), "")
    cost = factory.tenant.spec.cost_centre
    names = {"$pool": pool.name, "$gpu": pool.gpu_resource_names[0], "$queue": queue, "$other": other, "$cost": cost}
    return {name: value for name, value in names.items() if value}


def _named(factory: WorkloadFactory, value: Any) -> Any:
    """Returns a copy of a value with the names of the cluster."""
    if isinstance(value, dict):
        return {_named(factory, key): _named(factory, child) for key, child in value.items()}
    if isinstance(value, list):
        return [_named(factory, child) for child in value]
    if isinstance(value, str) and value.startswith("$"):
        for name, text in _names(factory).items():
            if value.startswith(name):
                return text + value.removeprefix(name)
    return deepcopy(value)
