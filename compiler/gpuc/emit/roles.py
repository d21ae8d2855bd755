"""Roles of the members of tenants, and of auditors, who may read the objects of the platform and of all tenants.

gpuc does not use the built-in roles: edit and admin can write NetworkPolicies and RoleBindings; view cannot read nodes,
queues and roles, and every chart can add rules to view.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from gpuc.emit.component import components, components_on
from gpuc.emit.component_facts import READ, PolicyRule
from gpuc.emit.substrate import substrate_output
from gpuc.emit.sync import wave
from gpuc.kubernetes.api_groups import RBAC, RBAC_API
from gpuc.kubernetes.resource_name import plural
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Namespace, Tenant
from gpuc.model.tenant import ROLES
from gpuc.parts.folders import table_beside
from gpuc.parts.workload_kinds import workload_kinds
from gpuc.spec.tenants import Role

_TABLE = table_beside(__file__)
_WRITE = tuple(_TABLE["verbs"]["write"].split())
VIEW, EDIT, ADMIN, ROUTES, AUDITED = (
    tuple[PolicyRule, ...](
        (group, tuple(resources.split()), tuple(_TABLE["verbs"].get(verbs, verbs).split()))
        for group, verbs, resources in _TABLE[name]
    )
    for name in ("view", "edit", "admin", "routes", "audited")
)
"""Lists of rules.

All roles have VIEW. In addition, `edit` and `admin` have EDIT; `admin` has ADMIN; `edit` and `admin` have ROUTES in
namespaces with `exposed.gateways`; auditors have AUDITED.
"""

AUDITOR = "gpuc-auditor"
AUDITORS_FILE = "tenants/auditors.rbac.yaml"
"""The path below out/<cluster>/. The name of a tenant contains no dot, so that no file of a tenant has this path."""

_DATA = ("pods/log",)
"""Resources of the role `view` that contain data of a tenant, not objects: the output of its programs."""


def member_roles(cluster: Cluster, tenant: Tenant, namespace: Namespace, file: str) -> Iterator[Manifest]:
    """Yields a Role for each role that members have in a namespace, and a RoleBinding for the groups with the role."""
    for role in ROLES:
        if members := tenant.members_of(namespace, role):
            groups = dict.fromkeys(group for entry in members for group in entry.spec.groups)
            name, origin = f"gpuc-{role}", members[0].path
            rules, binding = {"rules": _documents(_rules(cluster, namespace, role))}, _bound("Role", name, groups)
            for kind, body in (("Role", rules), ("RoleBinding", binding)):
                yield Manifest(file, origin, RBAC_API, kind, name, body, namespace.name, annotations=wave(0))


def auditors(cluster: Cluster) -> Iterator[Manifest]:
    """Yields the ClusterRole of the auditors, and the ClusterRoleBinding for their groups.

    The objects belong to the Application of the tenants. So Argo CD prunes them after a commit removes `auditors` from
    the spec. In a separate Application, the objects would stay in the cluster: Argo CD does not delete the objects of
    an Application that leaves the output.
    """
    spec = cluster.spec.auditors
    if spec is None:
        return
    jobs = (rule for rule in _job_rules(cluster, READ) if rule[0] != "batch")
    view = [(group, tuple(name for name in names if name not in _DATA), verbs) for group, names, verbs in _view()]
    substrate = cluster.spec.cloud.substrate.folder
    of_substrate = [(group, (plural(group, kind),), READ) for group, kind in substrate_output(cluster).cluster_kinds]
    audited = chain(AUDITED, of_substrate, *(row.auditor_rights for row in components_on([substrate])))
    rules: Body = {"rules": _documents([*view, *jobs, *sorted(audited)])}
    for kind, body in (("ClusterRole", rules), ("ClusterRoleBinding", _bound("ClusterRole", AUDITOR, spec.groups))):
        yield Manifest(
            cluster.out(AUDITORS_FILE), ("spec", "auditors"), RBAC_API, kind, AUDITOR, body, annotations=wave(0)
        )


def _bound(kind: str, role: str, groups: Iterable[str]) -> Body:
    """Returns the body of a binding that gives a role to groups.

    Args:
        kind: the kind of the role, Role or ClusterRole.
    """
    return {
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups],
    }


def _documents(rules: Iterable[PolicyRule]) -> list[Body]:
    """Returns rules as entries of the field `rules` of a role."""
    return [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)} for group, resources, verbs in rules
    ]


def _rules(cluster: Cluster, namespace: Namespace, role: Role) -> Iterator[PolicyRule]:
    """Yields the rules of a role. Job kinds that Kueue does not manage are excluded, because they bypass the quota."""
    yield from _view()
    yield from _job_rules(cluster, READ if role == "view" else _WRITE)
    if role != "view":
        yield from EDIT
        if namespace.spec.exposed.gateways:
            yield from ROUTES
    if role == "admin":
        yield from ADMIN


def _view() -> list[PolicyRule]:
    """Returns the rules that all roles have.

    The rules are the same in all clusters, so a new component changes no role.
    """
    return sorted(chain(VIEW, *(component.member_rights for component in components())))


def _job_rules(cluster: Cluster, verbs: tuple[str, ...]) -> Iterator[PolicyRule]:
    """Yields a rule per job kind."""
    for framework in sorted(name for name in cluster.job_kinds if "/" in name):
        kinds = [kind for kind in workload_kinds() if kind.queueing.framework == framework]
        yield kinds[0].group, tuple(sorted(f"{kind.kind.lower()}s" for kind in kinds)), verbs
