"""API requests of tenant members and auditors, each with the decision that RBAC must make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.kubernetes.api_groups import RBAC_API
from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.model import Cluster, Tenant
from gpuc.model.names import TENANT_KEY
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.sample_workloads import WorkloadFactory

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
    can_edit, is_admin, namespace = role in ("edit", "admin"), role == "admin", factory.namespace.name
    yield _list_request(f"pods of {namespace}", namespace, role is not None or is_auditor, "Pod", "pods")
    yield _list_request(f"secrets of {namespace}", namespace, can_edit, "Secret", "secrets")
    for queue in factory.queues:
        job = factory.queued_job("member", queue)
        yield AccessRequest(f"a Job in queue {queue}", can_edit, "create", job, "jobs")
    yield AccessRequest("a pod", can_edit, "create", factory.pod("member"), "pods")
    for kind, plural, allowed in (
        ("ConfigMap", "configmaps", can_edit),
        ("ServiceAccount", "serviceaccounts", is_admin),
    ):
        document = {"apiVersion": "v1", "kind": kind, "metadata": factory.metadata("member")}
        yield AccessRequest(f"a {kind}", allowed, "create", document, plural)
    for document, plural in _boundary_objects(factory, group):
        yield AccessRequest(f"a {document['kind']}", False, "create", document, plural)
    yield from _changes(factory)
    for other in _other_namespaces(factory.cluster, factory.tenant):
        yield _list_request(f"secrets of {other}", other, False, "Secret", "secrets")
        yield _list_request(f"pods of {other}", other, is_auditor, "Pod", "pods")
        job = factory.job(factory.pod("guest"), next(iter(factory.queues), ""))
        job["metadata"]["namespace"] = other
        yield AccessRequest(f"a Job in {other}", False, "create", job, "jobs")


def auditor_requests(cluster: Cluster) -> Iterator[AccessRequest]:
    """Yields requests of an auditor in every tenant namespace, and about objects of the platform."""
    for tenant, namespace in cluster.namespaces:
        name = namespace.name
        for kind, plural in (("Pod", "pods"), ("ResourceQuota", "resourcequotas"), ("RoleBinding", "rolebindings")):
            api = RBAC_API if kind == "RoleBinding" else "v1"
            yield _list_request(f"{plural} of {name}", name, True, kind, plural, api)
        yield _list_request(f"secrets of {name}", name, False, "Secret", "secrets")
        factory = WorkloadFactory(cluster, tenant, namespace)
        yield AccessRequest(f"a pod in {name}", False, "create", factory.pod("auditor"), "pods")
    yield _list_request(f"pods of {PLATFORM}", PLATFORM, True, "Pod", "pods")
    yield _list_request(f"secrets of {PLATFORM}", PLATFORM, False, "Secret", "secrets")
    platform = [("v1", "Node", "nodes"), ("karpenter.sh/v1", "NodePool", "nodepools")]
    platform += [(KUEUE_API, "ClusterQueue", "clusterqueues")] if cluster.queues else []
    for api, kind, plural in platform:
        yield _list_request(f"all {plural}", "", True, kind, plural, api)
    metadata = {"name": cluster.pools[0].name, "labels": {TENANT_KEY: "another"}}
    node_pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": metadata}
    yield AccessRequest(f"labels of NodePool {cluster.pools[0].name}", False, "patch", node_pool, "nodepools")


def _list_request(name: str, namespace: str, allowed: bool, kind: str, plural: str, api: str = "v1") -> AccessRequest:
    document = {"apiVersion": api, "kind": kind, "metadata": {"namespace": namespace}}
    return AccessRequest(name, allowed, "list", document, plural)


def _boundary_objects(factory: WorkloadFactory, member: str) -> Iterator[tuple[Object, str]]:
    """Yields (object, resource) of the kinds that limit a tenant. RBAC must not allow a member to create them."""
    metadata = factory.metadata("member")
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": member}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    for api, kind, plural, body in (
        (KUEUE_API, "LocalQueue", "localqueues", {"spec": {"clusterQueue": "any"}}),
        ("v1", "ResourceQuota", "resourcequotas", {"spec": {"hard": {"pods": "1k"}}}),
        ("v1", "LimitRange", "limitranges", {"spec": {"limits": [{"type": "Pod"}]}}),
        ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", {"spec": {"podSelector": {}}}),
        (RBAC_API, "Role", "roles", {"rules": []}),
        (RBAC_API, "RoleBinding", "rolebindings", {"roleRef": reference, "subjects": [group]}),
    ):
        yield {"apiVersion": api, "kind": kind, "metadata": metadata, **body}, plural


def _changes(factory: WorkloadFactory) -> Iterator[AccessRequest]:
    """Yields changes of objects that limit a tenant. RBAC must not allow a member to make the changes."""
    labels = {TENANT_KEY: "another"}
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": factory.namespace.name, "labels": labels},
    }
    yield AccessRequest(
        f"label of another tenant on namespace {factory.namespace.name}", False, "patch", namespace, "namespaces"
    )
    metadata = {"name": "gpuc", "namespace": factory.namespace.name, "labels": labels}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata}
    yield AccessRequest("labels of ResourceQuota gpuc", False, "patch", quota, "resourcequotas")
    for queue in tuple(factory.queues)[:1]:
        cluster_queue = {"apiVersion": KUEUE_API, "kind": "ClusterQueue", "metadata": {"name": queue, "labels": labels}}
        yield AccessRequest(f"labels of ClusterQueue {queue}", False, "patch", cluster_queue, "clusterqueues")
    for pool in factory.tenant.pools[:1]:
        node_pool = {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": pool.name, "labels": labels},
        }
        yield AccessRequest(f"labels of NodePool {pool.name}", False, "patch", node_pool, "nodepools")


def _other_namespaces(cluster: Cluster, tenant: Tenant) -> Iterator[str]:
    """Yields the first namespace of every other tenant, and the platform's namespace."""
    for other in cluster.tenants:
        if other is not tenant:
            yield from (namespace.name for namespace in other.namespaces[:1])
    yield PLATFORM
