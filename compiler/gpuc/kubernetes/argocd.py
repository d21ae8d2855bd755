"""Keys of the annotations that Argo CD reads from objects, and the form of its URLs."""

from __future__ import annotations

WAVE = "argocd.argoproj.io/sync-wave"
OPTIONS = "argocd.argoproj.io/sync-options"
COMPARE = "argocd.argoproj.io/compare-options"


def argocd_url(repository: str) -> str:
    """Returns the URL of a Helm repository in the form of Argo CD, which names an OCI registry without oci://.

    Source: argoproj/argo-cd v3.5.1 docs/user-guide/helm.md (Declarative)
    """
    return repository.removeprefix("oci://")
