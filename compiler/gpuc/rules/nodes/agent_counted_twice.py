from gpuc.catalog.records import FLEET
from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule


@rule("KRP129", Severity.WARNING)
def agent_counted_twice(cluster: Cluster) -> Findings:
    """`nodeAgents` contains a DaemonSet whose resource requests gpuc already knows."""
    known = {
        row.name: row
        for row in cluster.catalog.daemonsets_of([*cluster.components, cluster.spec.cloud.substrate.folder])
    }
    for name in cluster.spec.node_agents:
        if name in known:
            place = "a row of specs/catalog/" if known[name].component == FLEET else "the catalog of gpuc"
            message = f"nodeAgents.{name} repeats {place} with {known[name].cpu_milli}m CPU and "
            message += f"{known[name].memory_mib} MiB of memory; expected only DaemonSets that gpuc does not know"
            yield Found(("spec", "nodeAgents", name), message)
