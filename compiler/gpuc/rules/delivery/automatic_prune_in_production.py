from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("ARG002", Severity.WARNING, source="argoproj/argo-cd v3.5.1 docs/user-guide/sync-options.md")
def automatic_prune_in_production(cluster: Cluster) -> Findings:
    """What leaves the spec of a production cluster is deleted at once.

    A pool that is renamed takes all its nodes down with the work on them, a tenant its namespaces with all data: no
    budget holds a deletion up.
    """
    if cluster.spec.environment == "prod" and cluster.spec.delivery.prune == "automatic":
        yield ("spec", "delivery", "prune"), "prune is automatic in prod; it takes confirm or never", "write confirm"
