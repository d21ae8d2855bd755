from gpuc.diagnostics.contract import Needs, When
from gpuc.isolation import FOREIGN_NAMESPACE, HOST_NETWORK_OPEN, OPEN_PAIR, OPEN_SIDE, findings
from gpuc.verify import CHECKS, Findings
from gpuc.verify.subject import Subject


@CHECKS.finds(OPEN_PAIR, OPEN_SIDE, HOST_NETWORK_OPEN, FOREIGN_NAMESPACE, needs=Needs.CLUSTER, when=When.BOTH)
def tenants(subject: Subject) -> Findings:
    """Yields findings about connections that policies permit between pods of two tenants."""
    return findings(subject.objects)
