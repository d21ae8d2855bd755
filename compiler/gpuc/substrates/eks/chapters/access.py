"""Chapters of the README about access: the IAM roles of ServiceAccounts, and the groups of members and auditors."""

import re
from shlex import quote

from gpuc.diagnostics.finding import Path
from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster
from gpuc.model.tenant import Members
from gpuc.substrates.eks.chapters import HERE

_PREFIX = re.compile(r"[A-Za-z0-9._-]+:")
"""The prefix of a group, for a shell command in the README. Names of groups are free text."""


def service_accounts(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the IAM roles of tenants' ServiceAccounts."""
    rows: list[Row] = []
    accounts = []
    for _, namespace in cluster.namespaces:
        for name, account in namespace.spec.service_accounts.items():
            path, role = (*namespace.path, "serviceAccounts", name), account.role.rpartition("/")[2]
            rows += [
                ("pod-identity", path, {"name": f"{namespace.name}/{name}", "row": f"{namespace.name} and {name}"}),
                ("iam-role", path, {"name": role, "quoted": quote(role)}),
            ]
            accounts.append((namespace.name, name, account.role))
    title = "IAM roles of ServiceAccounts"
    return written(cluster, HERE / "service_accounts", title, rows, service_accounts=accounts, quote=quote)


def members(cluster: Cluster) -> Chapter:
    """Returns the chapter of the README about the groups of tenants' members and of auditors.

    EKS gets the groups from an identity provider or from access entries.
    """
    rows = [
        (tenant.name, members.spec.groups, _role_with_namespaces(members))
        for tenant in cluster.tenants
        for members in tenant.members
    ]
    if cluster.auditors:
        rows.append(("all tenants and the platform", list(cluster.auditors), "auditor"))
    paths: dict[str, Path] = {group: tenant.path for tenant in cluster.tenants for group in tenant.groups}
    paths |= {group: ("spec", "auditors") for group in cluster.auditors if group not in paths}
    groups: list[Row] = [("group", path, {"name": name}) for name, path in paths.items()]
    title = "Members of tenants" + (" and auditors" if cluster.auditors else "")
    values = {"groups": rows, "group_prefix": _group_prefix(cluster)}
    return written(cluster, HERE / "members", title, groups, **values)


def _role_with_namespaces(members: Members) -> str:
    """Returns the role of members, with its namespaces if the spec lists them: "view in nlp-lab"."""
    listed = members.spec.namespaces
    return f"{members.spec.role} in {', '.join(listed)}" if listed else members.spec.role


def _group_prefix(cluster: Cluster) -> str:
    """Returns the prefix that all groups of members have, up to the colon; empty if they have no common prefix."""
    groups = [*(group for tenant in cluster.tenants for group in tenant.groups), *cluster.auditors]
    prefixes = {match[0] if (match := _PREFIX.match(group)) else "" for group in groups}
    return prefixes.pop() if len(prefixes) == 1 else ""
