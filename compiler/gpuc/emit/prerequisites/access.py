"""The IAM roles of nodes, of Karpenter's controller and of ServiceAccounts, and the groups of members and auditors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote

from gpuc.diagnostics.finding import Path
from gpuc.emit.prerequisites.record import AWS, Chapter, Row, written
from gpuc.model import Cluster
from gpuc.model.tenant import Members
from gpuc.spec.cloud import Aws

_PREFIX = re.compile(r"[A-Za-z0-9._-]+:")
"""The prefix of a group, for a shell command in the README. Names of groups are free text."""


def iam(cluster: Cluster) -> Chapter:
    """Returns the chapter about the IAM roles of nodes and of Karpenter's controller, and the interruption queue."""
    settings = cluster.aws
    values = {
        "node_role_command": _node_role_command(settings),
        "has_other_role": settings.node_role != f"KarpenterNodeRole-{settings.eks_cluster}",
        "has_other_queue": settings.interruption_queue not in (None, settings.eks_cluster),
        "uses_spot": _uses_spot(cluster),
    }
    title = "IAM roles" + (" and the interruption queue" if settings.interruption_queue else "")
    controller = cluster.components["karpenter"]
    return written(cluster, "iam", title, _iam_rows(cluster), karpenter=controller, **values)


def _iam_rows(cluster: Cluster) -> Iterator[Row]:
    """Yields the records.

    Sources: Amazon EKS User Guide, pod-id-agent-setup; aws/karpenter-provider-aws v1.14.1 pkg/operator/operator.go,
    pkg/controllers/nodeclass/validation.go (a dry run of RunInstances) and
    website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml
    (AllowPassingInstanceRole permits only KarpenterNodeRole-<cluster>)
    """
    settings, namespace = cluster.aws, cluster.components["karpenter"].namespace
    path = (*AWS, "nodeRole" if settings.node_role else "instanceProfile")
    command = _node_role_command(settings)
    known = {
        "name": settings.node_role or settings.instance_profile or "",
        "command": command,
        "arn": f'"$({command} --output text)"',
    }
    role = "iam-role" if settings.node_role else "instance-profile"
    yield from ((entry, path, known) for entry in (role, "access-entry", "pass-role"))
    yield "eks-addon/eks-pod-identity-agent", AWS, {}
    yield "pod-identity", AWS, {"name": f"{namespace}/karpenter", "namespace": namespace}
    if settings.interruption_queue:
        yield "sqs-queue", (*AWS, "interruptionQueue"), {"name": settings.interruption_queue}
    if settings.volume_kms_key:
        yield "kms-key", (*AWS, "volumeKmsKey"), {"name": settings.volume_kms_key}
    if _uses_spot(cluster):
        yield "service-linked-role/spot.amazonaws.com", ("spec", "pools"), {}


def _uses_spot(cluster: Cluster) -> bool:
    return any("spot" in pool.spec.purchase for pool in cluster.pools)


def _node_role_command(aws: Aws) -> str:
    """Returns the command that prints the ARN of the IAM role of nodes, without its output format."""
    if aws.node_role:
        return f"aws iam get-role --role-name {aws.node_role} --query Role.Arn"
    profile = f"--instance-profile-name {aws.instance_profile}"
    return f"aws iam get-instance-profile {profile} --query 'InstanceProfile.Roles[0].Arn'"


def service_accounts(cluster: Cluster) -> Chapter:
    """Returns the chapter about the IAM roles of tenants' ServiceAccounts."""
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
    return written(cluster, "service_accounts", title, rows, service_accounts=accounts, quote=quote)


def members(cluster: Cluster) -> Chapter:
    """Returns the chapter about the groups of members and auditors.

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
    return written(cluster, "members", title, groups, **values)


def _role_with_namespaces(members: Members) -> str:
    """Returns the role of members, with its namespaces if the spec lists them: "view in nlp-lab"."""
    listed = members.spec.namespaces
    return f"{members.spec.role} in {', '.join(listed)}" if listed else members.spec.role


def _group_prefix(cluster: Cluster) -> str:
    """Returns the prefix that all groups of members have, up to the colon; empty if they have no common prefix."""
    groups = [*(group for tenant in cluster.tenants for group in tenant.groups), *cluster.auditors]
    prefixes = {match[0] if (match := _PREFIX.match(group)) else "" for group in groups}
    return prefixes.pop() if len(prefixes) == 1 else ""
