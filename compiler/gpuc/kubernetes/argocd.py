"""Keys of the annotations that Argo CD reads from objects, and the form of its URLs."""

WAVE = "argocd.argoproj.io/sync-wave"
OPTIONS = "argocd.argoproj.io/sync-options"
COMPARE = "argocd.argoproj.io/compare-options"
IGNORE_HEALTH = "argocd.argoproj.io/ignore-healthcheck"
"""With the value true, an object does not count for the health of its Application. The waves of a sync still wait for
the object.

Source: argoproj/argo-cd v3.5.1 controller/health.go (setApplicationHealth),
gitops-engine/pkg/sync/sync_context.go (Sync)
"""


def argocd_url(repository: str) -> str:
    """Returns the URL of a Helm repository in the form of Argo CD, which names an OCI registry without oci://.

    Source: argoproj/argo-cd v3.5.1 docs/user-guide/helm.md (Declarative)
    """
    return repository.removeprefix("oci://")
