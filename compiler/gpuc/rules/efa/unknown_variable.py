from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.diagnostics.spelling import misspelt
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.efa._environment import profile_variables


@rule("EFA103", Severity.WARNING, source="NCCL user guide; aws/aws-ofi-nccl include/nccl_ofi_param.h")
def unknown_variable(cluster: Cluster) -> Findings:
    """NCCL and the EFA plugin have no environment variable with this name.

    NCCL ignores an unknown variable without a warning. The name may be misspelled.
    """
    for path, profile, name, _ in profile_variables(cluster):
        nccl = cluster.catalog.nccl
        known = nccl.variables.keys() | {verdict.name for verdict in nccl.verdicts}
        if name.startswith(("NCCL_", "OFI_NCCL_")) and name not in known:
            message = f"NCCL profile {profile} sets {name}, but NCCL and the EFA plugin have no such variable"
            suggestion = misspelt(name, known)
            yield path, message, f"rename {name} to {suggestion}" if suggestion else ""
