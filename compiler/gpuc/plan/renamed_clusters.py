"""The clusters that a change renames: a spec is removed, and another spec of the same EKS cluster is added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpuc.model import Cluster
from gpuc.plan.change import Change

_Identity = tuple[str, str, str]
"""The region, the name of the EKS cluster, and the destination of Argo CD."""


def with_other_names(changes: Iterable[Change]) -> list[Change]:
    """Returns the changes, with the other name of each renamed cluster.

    A name of an EKS cluster is unique in its AWS account and region. Specs do not contain the account.
    """
    found = list(changes)
    states = (
        [change.before for change in found if change.is_removed],
        [change.after for change in found if change.is_new],
    )
    removed, added = ({_identity(state.cluster): state.name for state in some if state.cluster} for some in states)
    others = {removed[key]: added[key] for key in removed.keys() & added.keys()}
    others |= {after: before for before, after in others.items()}
    return [replace(change, other_name=others.get(change.after.name or change.before.name, "")) for change in found]


def _identity(cluster: Cluster) -> _Identity:
    destination = cluster.spec.delivery.destination
    return cluster.aws.region, cluster.aws.eks_cluster, str(destination.server or destination.name)
