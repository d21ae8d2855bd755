from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("ARG002", Severity.WARNING, source="argoproj/argo-cd v3.5.1 docs/user-guide/sync-options.md")
def automatic_prune_in_production(cluster: Cluster) -> Findings:
    """A production cluster prunes automatically.

    Argo CD deletes at once what is no longer in the spec. A renamed pool loses all its nodes with the work on them, a
    renamed tenant its namespaces with all data; disruption budgets do not delay a deletion.
    """
    if cluster.spec.environment == "prod" and cluster.spec.delivery.prune == "automatic":
        yield ("spec", "delivery", "prune"), "prune is automatic in prod; expected confirm or never", "write confirm"
