"""API requests of tenant members and auditors, each with the decision that RBAC must make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.kubernetes.api_groups import RBAC_API
from gpuc.model import Cluster, Tenant
from gpuc.model.names import TENANT_KEY
from gpuc.rehearse.client import Client, Object, new_object
from gpuc.rehearse.context import CLUSTER_QUEUE, KARPENTER_POOL, LOCAL_QUEUE, NODE
from gpuc.rehearse.sample_workloads import WorkloadFactory, factories

PLATFORM = "kube-system"


@dataclass(frozen=True)
class AccessRequest:
    """An API request of a user in a group."""

    name: str
    allowed: bool
    """Whether RBAC must allow the request."""
    verb: str
    """create, patch or list."""
    document: Object
    """The object to create or patch; for the verb list, only the kind and the namespace are used."""
    resource: str
    """Plural name of the resource, for example pods. The API server's message contains this name."""

    def send(self, client: Client) -> None:
        """Sends the request; create and patch are dry runs.

        Raises:
            ApiError: if the API server refuses the request.
        """
        document, metadata = self.document, self.document["metadata"]
        api, kind, namespace = document["apiVersion"], document["kind"], metadata.get("namespace", "")
        if self.verb == "create":
            client.create(document, dry_run=True)
        elif self.verb == "list":
            client.list_all(api, kind, namespace)
        else:
            client.patch(api, kind, metadata["name"], {"metadata": metadata}, namespace, dry_run=True)


def member_requests(factory: WorkloadFactory, group: str) -> Iterator[AccessRequest]:
    """Yields requests of a member in the tenant's namespace, and in namespaces of other tenants and of the platform.

    Args:
        group: the group of the member.
    """
    role, is_auditor = factory.tenant.role_of(group, factory.namespace), group in factory.cluster.auditors
    can_edit, namespace = role in ("edit", "admin"), factory.namespace.name
    yield _listing(f"pods of {namespace}", namespace, role is not None or is_auditor, "Pod", "pods")
    yield _listing(f"secrets of {namespace}", namespace, can_edit, "Secret", "secrets")
    for queue in factory.queues:
        job = factory.queued_job("member", queue)
        yield AccessRequest(f"a Job in queue {queue}", can_edit, "create", job, "jobs")
    yield AccessRequest("a pod", can_edit, "create", factory.pod("member"), "pods")
    rows = (("ConfigMap", "configmaps", can_edit), ("ServiceAccount", "serviceaccounts", role == "admin"))
    for kind, plural, allowed in rows:
        document = new_object("v1", kind, "rehearsal-member", namespace)
        yield AccessRequest(f"a {kind}", allowed, "create", document, plural)
    for document, plural in _boundary_objects(namespace, group):
        yield AccessRequest(f"a {document['kind']}", False, "create", document, plural)
    yield from _changes(factory)
    for other in _other_namespaces(factory.cluster, factory.tenant):
        yield _listing(f"secrets of {other}", other, False, "Secret", "secrets")
        yield _listing(f"pods of {other}", other, is_auditor, "Pod", "pods")
        job = factory.job(factory.pod("guest"), next(iter(factory.queues), ""))
        job["metadata"]["namespace"] = other
        yield AccessRequest(f"a Job in {other}", False, "create", job, "jobs")


def auditor_requests(cluster: Cluster) -> Iterator[AccessRequest]:
    """Yields requests of an auditor in every tenant namespace, and about objects of the platform."""
    for factory in factories(cluster):
        name = factory.namespace.name
        for kind, plural in (("Pod", "pods"), ("ResourceQuota", "resourcequotas"), ("RoleBinding", "rolebindings")):
            api = RBAC_API if kind == "RoleBinding" else "v1"
            yield _listing(f"{plural} of {name}", name, True, kind, plural, api)
        yield _listing(f"secrets of {name}", name, False, "Secret", "secrets")
        yield AccessRequest(f"a pod in {name}", False, "create", factory.pod("auditor"), "pods")
    yield _listing(f"pods of {PLATFORM}", PLATFORM, True, "Pod", "pods")
    yield _listing(f"secrets of {PLATFORM}", PLATFORM, False, "Secret", "secrets")
    kinds = [(NODE, "nodes"), (KARPENTER_POOL, "nodepools")]
    kinds += [(CLUSTER_QUEUE, "clusterqueues")] if cluster.queues else []
    for (api, kind), plural in kinds:
        yield _listing(f"all {plural}", "", True, kind, plural, api)
    yield _labelling(*KARPENTER_POOL, cluster.pools[0].name, "nodepools")


def _listing(name: str, namespace: str, allowed: bool, kind: str, plural: str, api: str = "v1") -> AccessRequest:
    return AccessRequest(name, allowed, "list", new_object(api, kind, "", namespace), plural)


def _labelling(api: str, kind: str, name: str, plural: str, namespace: str = "", title: str = "") -> AccessRequest:
    """Returns a change of the tenant's label of an object, which RBAC must not allow."""
    document = new_object(api, kind, name, namespace, metadata={"labels": {TENANT_KEY: "another"}})
    return AccessRequest(title or f"labels of {kind} {name}", False, "patch", document, plural)


def _boundary_objects(namespace: str, member: str) -> Iterator[tuple[Object, str]]:
    """Yields (object, resource) of the kinds that limit a tenant. RBAC must not allow a member to create them."""
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": member}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    for api, kind, plural, body in (
        (*LOCAL_QUEUE, "localqueues", {"spec": {"clusterQueue": "any"}}),
        ("v1", "ResourceQuota", "resourcequotas", {"spec": {"hard": {"pods": "1k"}}}),
        ("v1", "LimitRange", "limitranges", {"spec": {"limits": [{"type": "Pod"}]}}),
        ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", {"spec": {"podSelector": {}}}),
        (RBAC_API, "Role", "roles", {"rules": []}),
        (RBAC_API, "RoleBinding", "rolebindings", {"roleRef": reference, "subjects": [group]}),
    ):
        yield new_object(api, kind, "rehearsal-member", namespace, **body), plural


def _changes(factory: WorkloadFactory) -> Iterator[AccessRequest]:
    """Yields changes of objects that limit a tenant. RBAC must not allow a member to make the changes."""
    namespace = factory.namespace.name
    title = f"label of another tenant on namespace {namespace}"
    yield _labelling("v1", "Namespace", namespace, "namespaces", title=title)
    yield _labelling("v1", "ResourceQuota", "gpuc", "resourcequotas", namespace)
    for queue in tuple(factory.queues)[:1]:
        yield _labelling(*CLUSTER_QUEUE, queue, "clusterqueues")
    for pool in factory.tenant.pools[:1]:
        yield _labelling(*KARPENTER_POOL, pool.name, "nodepools")


def _other_namespaces(cluster: Cluster, tenant: Tenant) -> Iterator[str]:
    """Yields the first namespace of every other tenant, and the platform's namespace."""
    for other in cluster.tenants:
        if other is not tenant:
            yield from (namespace.name for namespace in other.namespaces[:1])
    yield PLATFORM
