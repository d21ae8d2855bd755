from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.efa._environment import settings


@rule("EFA103", Severity.WARNING, source="NCCL user guide; aws/aws-ofi-nccl include/nccl_ofi_param.h")
def unknown_variable(cluster: Cluster) -> Findings:
    """NCCL and its EFA plugin do not have an environment variable of this name.

    NCCL ignores an unknown variable without a warning. The name may be misspelled.
    """
    for path, name, _ in settings(cluster):
        nccl = cluster.catalog.nccl
        known = nccl.variables.keys() | {verdict.name for verdict in nccl.verdicts}
        if name.startswith(("NCCL_", "OFI_NCCL_")) and name not in known:
            yield path, f"NCCL and its EFA plugin have no variable {name}", write(misspelt(name, known))
