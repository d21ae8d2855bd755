from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.efa._environment import settings

UNWANTED = ("harmful", "obsolete", "deprecated", "removed", "no effect", "redundant")


@rule("EFA008", Severity.WARNING, source="aws/aws-ofi-nccl doc/efa-env-var.md")
def harmful_setting(cluster: Cluster) -> Findings:
    """An environment variable of NCCL or of its EFA plugin is harmful, or has no effect.

    Such variables are often copied from other clusters or older software. The plugin sets the best values for each
    platform, and a variable in an NCCL profile replaces these values.
    """
    for path, name, value in settings(cluster):
        # A verdict on the complete name takes precedence over a verdict on a prefix of the name.
        found = [verdict for verdict in cluster.catalog.nccl.verdicts if verdict.matches(name, value)]
        found.sort(key=lambda verdict: (verdict.prefix, not verdict.value))
        if found and found[0].verdict in UNWANTED:
            yield path, f"{name}={value} is {_adjective(found[0].verdict)}: {found[0].why}", f"remove {name}"


def _adjective(verdict: str) -> str:
    return "without effect" if verdict == "no effect" else verdict
