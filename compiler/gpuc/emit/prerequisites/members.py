"""The groups of members and auditors, which EKS gets from an identity provider or from access entries."""

from __future__ import annotations

import re

from gpuc.diagnostics.finding import Path
from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster
from gpuc.model.tenant import Members

_PREFIX = re.compile(r"[A-Za-z0-9._-]+:")
"""The prefix of a group, for a shell command in the README. Names of groups are free text."""


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about groups; None if no RoleBinding has a group."""
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
    return written(cluster, "members", title, groups, **values) if groups else None


def _role_with_namespaces(members: Members) -> str:
    """Returns the role of members, with its namespaces if the spec lists them: "view in nlp-lab"."""
    listed = members.spec.namespaces
    return f"{members.spec.role} in {', '.join(listed)}" if listed else members.spec.role


def _group_prefix(cluster: Cluster) -> str:
    """Returns the prefix that all groups of members have, up to the colon; empty if they have no common prefix."""
    groups = [*(group for tenant in cluster.tenants for group in tenant.groups), *cluster.auditors]
    prefixes = {match[0] if (match := _PREFIX.match(group)) else "" for group in groups}
    return prefixes.pop() if len(prefixes) == 1 else ""
