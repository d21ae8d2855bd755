from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("ARG002", Severity.WARNING, source="argoproj/argo-cd v3.5.1 docs/user-guide/sync-options.md")
def automatic_prune_in_production(cluster: Cluster) -> Findings:
    """Argo CD prunes automatically in a production cluster.

    Argo CD immediately deletes objects that the spec no longer contains. If you rename a node pool, Argo CD deletes all
    nodes of the node pool with their pods. If you rename a tenant, Argo CD deletes the namespaces of the tenant with
    all data. Disruption budgets do not delay the deletion.
    """
    if cluster.spec.environment == "prod" and cluster.spec.delivery.prune == "automatic":
        yield (
            ("spec", "delivery", "prune"),
            "delivery.prune is automatic in prod; expected confirm or never",
            "set delivery.prune to confirm",
        )
