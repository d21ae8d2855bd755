"""Finds the changed fields of an object that the API server or a webhook refuses to change."""

from gpuc.admission.validation.changes import Refusals, refused_changes
from gpuc.admission.validation.kueue_changes import Refused, refused_by_kueue
from gpuc.cluster.application import sync_options
from gpuc.objects.object_set import group
from gpuc.parts.workload_kinds import workload_kind
from gpuc.plan.change import Change, Pair
from gpuc.plan.refused_workloads import cluster_index
from gpuc.trace.kueue_scope import manages


def refused_fields(pair: Pair) -> Refusals:
    """Yields the changed fields of an object that the API server refuses to change, with the reason.

    Argo CD deletes some objects and creates them again instead of changing them. So all fields of these objects may
    change. These objects are hooks, and objects with the sync options Force=true and Replace=true.
    """
    if pair.is_changed and not _is_created_again(pair):
        yield from refused_changes(f"{group(pair.manifest)}/{pair.manifest.kind}", pair)


def refused_by_webhooks(change: Change, pair: Pair) -> list[Refused]:
    """Returns the changed fields that Kueue's webhooks refuse to change, if Kueue manages the kind of the object."""
    if not pair.is_changed or _is_created_again(pair):
        return []
    api_group, kind = group(pair.manifest), pair.manifest.kind
    found = list(refused_by_kueue(workload_kind(api_group, kind), pair))
    return found if found and manages(cluster_index(change.after), api_group, kind) else []


def _is_created_again(pair: Pair) -> bool:
    """Returns whether Argo CD deletes the object and creates it again, instead of changing it.

    Source: argo-cd v3.5.1 gitops-engine pkg/sync/sync_context.go (applyObject), docs/user-guide/sync-waves.md (hooks)
    """
    annotations = pair.manifest.annotations
    return {"Force=true", "Replace=true"} <= {*sync_options(pair.manifest)} or not annotations.keys().isdisjoint(
        ("argocd.argoproj.io/hook", "helm.sh/hook")
    )
