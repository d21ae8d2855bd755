"""What members of a tenant may ask of the API server, by role, as the spec promises it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.model import Cluster, Tenant
from gpuc.model.names import TENANT_KEY
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.desk import Desk

RBAC_API = "rbac.authorization.k8s.io/v1"
PLATFORM = "kube-system"


@dataclass(frozen=True)
class MemberRequest:
    """One request of a member."""

    name: str
    granted: bool
    verb: str
    """create, patch, list or get."""
    document: Object
    """What is created, or what is read or changed."""
    resource: str
    """Plural of its kind, as the API server's refusal names it."""

    def send(self, client: Client) -> None:
        """Sends it; nothing is stored.

        Raises:
            ApiError: when it is refused.
        """
        document, metadata = self.document, self.document["metadata"]
        api, kind, namespace = document["apiVersion"], document["kind"], metadata.get("namespace", "")
        if self.verb == "create":
            client.create(document, dry_run=True)
        elif self.verb == "list":
            client.list_all(api, kind, namespace)
        else:
            client.patch(api, kind, metadata["name"], {"metadata": metadata}, namespace, dry_run=True)


def member_requests(desk: Desk) -> Iterator[MemberRequest]:
    """What a member of the namespace's tenant tries there, and in the namespaces of others."""
    role = desk.tenant.spec.members.role
    works, manages, space = role in ("edit", "admin"), role == "admin", desk.namespace.name
    yield _reads("its pods", space, True, "Pod", "pods")
    yield _reads("its secrets", space, works, "Secret", "secrets")
    for queue, has_gpus in desk.queues.items():
        pod = desk.any_pod("member") if has_gpus else desk.pod("member")
        yield MemberRequest(f"a Job in queue {queue}", works, "create", desk.job(pod, queue), "jobs")
    yield MemberRequest("a pod", works, "create", desk.pod("member"), "pods")
    for kind, plural, granted in (("ConfigMap", "configmaps", works), ("ServiceAccount", "serviceaccounts", manages)):
        document = {"apiVersion": "v1", "kind": kind, "metadata": desk.metadata("member")}
        yield MemberRequest(f"a {kind}", granted, "create", document, plural)
    for document, plural in _fences(desk):
        yield MemberRequest(f"a {document['kind']}", False, "create", document, plural)
    yield from _changes(desk)
    for place in _elsewhere(desk.cluster, desk.tenant):
        yield _reads(f"secrets of {place}", place, False, "Secret", "secrets")
        yield _reads(f"pods of {place}", place, False, "Pod", "pods")
        job = desk.job(desk.pod("guest"), next(iter(desk.queues), ""))
        job["metadata"]["namespace"] = place
        yield MemberRequest(f"a Job in {place}", False, "create", job, "jobs")


def _reads(name: str, namespace: str, granted: bool, kind: str, plural: str) -> MemberRequest:
    document = {"apiVersion": "v1", "kind": kind, "metadata": {"namespace": namespace}}
    return MemberRequest(name, granted, "list", document, plural)


def _fences(desk: Desk) -> Iterator[tuple[Object, str]]:
    """What holds a tenant in, to be made anew by one of its own."""
    metadata = desk.metadata("member")
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": desk.tenant.spec.members.groups[0]}
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


def _changes(desk: Desk) -> Iterator[MemberRequest]:
    """What stands around a tenant, to be changed by one of its own."""
    labels = {TENANT_KEY: "another"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": desk.namespace.name, "labels": labels}}
    yield MemberRequest("another tenant's label on its namespace", False, "patch", space, "namespaces")
    metadata = {"name": "gpuc", "namespace": desk.namespace.name, "labels": labels}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata}
    yield MemberRequest("a change of its quota", False, "patch", quota, "resourcequotas")
    for queue in tuple(desk.queues)[:1]:
        named = {"apiVersion": KUEUE_API, "kind": "ClusterQueue", "metadata": {"name": queue, "labels": labels}}
        yield MemberRequest("a change of its ClusterQueue", False, "patch", named, "clusterqueues")
    for pool in desk.tenant.pools[:1]:
        named = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": pool.name, "labels": labels}}
        yield MemberRequest("a change of its NodePool", False, "patch", named, "nodepools")


def _elsewhere(cluster: Cluster, tenant: Tenant) -> Iterator[str]:
    """One namespace of each other tenant, and the platform's."""
    for other in cluster.tenants:
        if other is not tenant:
            yield from (namespace.name for namespace in other.namespaces[:1])
    yield PLATFORM
