from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.efa._environment import settings

UNWANTED = ("harmful", "obsolete", "deprecated", "removed", "no effect", "redundant")


@rule("EFA008", Severity.WARNING, source="aws/aws-ofi-nccl doc/efa-env-var.md")
def harmful_setting(cluster: Cluster) -> Findings:
    """A setting of NCCL or its plugin does harm on EFA, or nothing at all.

    Such settings are copied from other clusters and older software. The plugin tunes each platform by itself, and what
    is set by hand replaces that.
    """
    for path, name, value in settings(cluster):
        # Of two verdicts, the one on this name is closer than the one on its beginning.
        found = [verdict for verdict in cluster.catalog.nccl.verdicts if verdict.matches(name, value)]
        found.sort(key=lambda verdict: (verdict.prefix, not verdict.value))
        if found and found[0].verdict in UNWANTED:
            yield path, f"{name}={value} is {_adjective(found[0].verdict)}: {found[0].why}", f"remove {name}"


def _adjective(verdict: str) -> str:
    return "without effect" if verdict == "no effect" else verdict
