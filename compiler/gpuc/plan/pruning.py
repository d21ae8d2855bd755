"""What Argo CD does with an object that Git does not contain any more."""

from __future__ import annotations

from gpuc.kubernetes.argocd import OPTIONS
from gpuc.manifest.manifest import Manifest


def is_left(manifest: Manifest) -> bool:
    """Returns whether Argo CD leaves the object in the cluster, because its sync options exclude pruning.

    Source: argo-cd v3.5 docs/user-guide/sync-options.md, No Prune Resources
    """
    options = str(manifest.annotations.get(OPTIONS, ""))
    return "Prune=false" in [option.strip() for option in options.split(",")]
