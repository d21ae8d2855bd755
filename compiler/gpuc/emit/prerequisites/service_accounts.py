"""The IAM roles of tenants' ServiceAccounts."""

from __future__ import annotations

from shlex import quote

from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about the IAM roles of ServiceAccounts; None without such a ServiceAccount."""
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
    return written(cluster, "service_accounts", title, rows, service_accounts=accounts, quote=quote) if rows else None
