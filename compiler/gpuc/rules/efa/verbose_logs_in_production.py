from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA105", Severity.WARNING, source="NCCL user guide, NCCL_DEBUG")
def verbose_logs_in_production(cluster: Cluster) -> Findings:
    """NCCL writes verbose logs in production.

    Every rank of a job writes thousands of lines at startup. So many logs are expensive, and hide other messages.
    """
    if cluster.spec.environment != "prod":
        return
    for name, profile in cluster.spec.nccl.profiles.items():
        path = ("spec", "nccl", "profiles", name)
        if profile.debug in ("INFO", "TRACE"):
            yield (
                (*path, "debug"),
                f"debug of NCCL profile {name} is {profile.debug} in prod; expected WARN",
                f"set debug of NCCL profile {name} to WARN",
            )
        level = profile.env.get("NCCL_DEBUG", "").upper()
        if level in ("INFO", "TRACE"):
            message = f"NCCL_DEBUG of NCCL profile {name} is {level} in prod; expected WARN"
            yield (*path, "env", "NCCL_DEBUG"), message, f"set NCCL_DEBUG of NCCL profile {name} to WARN"
