from __future__ import annotations

from datetime import datetime

from gpuc.diagnostics.finding import Severity
from gpuc.diagnostics.today import today
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP128", Severity.WARNING)
def ended_block(cluster: Cluster) -> Findings:
    """The capacity block of a node pool has ended.

    The reservations of the block no longer exist. The node pool starts no nodes, but queues still promise its capacity:
    Kueue admits workloads whose pods stay pending. Write the end of the next capacity block, or set `leaving: true` and
    later remove the node pool. The finding appears on the day after the end, by the clock of the machine in UTC;
    SOURCE_DATE_EPOCH sets another date. The output does not depend on the date.
    """
    for pool in cluster.pools:
        reservations = pool.spec.reservations
        if reservations is None or reservations.block is None or pool.spec.leaving or pool.spec.hold:
            continue
        ends = reservations.block.ends
        if datetime.fromisoformat(ends).date() < today():
            message = f"the capacity block of node pool {pool.name} ended at {ends}; expected an end in the future"
            yield (*pool.path, "reservations", "block", "ends"), message
