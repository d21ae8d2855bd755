from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.efa._environment import profile_variables

UNWANTED = ("harmful", "obsolete", "deprecated", "removed", "no effect", "redundant")


@rule("EFA008", Severity.WARNING, source="aws/aws-ofi-nccl doc/efa-env-var.md")
def harmful_setting(cluster: Cluster) -> Findings:
    """An environment variable of NCCL or of the EFA plugin is harmful, or has no effect.

    Such variables are often copied from other clusters or older software. The EFA plugin sets the best values for each
    instance type. A variable in an NCCL profile replaces the value of the plugin.
    """
    for path, profile, name, value in profile_variables(cluster):
        # A verdict on the complete name takes precedence over a verdict on a prefix of the name.
        verdicts = [verdict for verdict in cluster.catalog.nccl.verdicts if verdict.matches(name, value)]
        verdicts.sort(key=lambda verdict: (verdict.prefix, not verdict.value))
        if verdicts and verdicts[0].verdict in UNWANTED:
            actual = f"{name}={value} in NCCL profile {profile} is {_adjective(verdicts[0].verdict)}"
            yield path, f"{actual}: {verdicts[0].why}", f"remove {name} from NCCL profile {profile}"


def _adjective(verdict: str) -> str:
    return "without effect" if verdict == "no effect" else verdict
