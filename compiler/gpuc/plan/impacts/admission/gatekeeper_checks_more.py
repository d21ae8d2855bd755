from gpuc.plan.change import Change
from gpuc.plan.gatekeeper_coverage import coverage_changes
from gpuc.plan.impact import Impacts, Level, impact


@impact("IMP312", Level.RESTRICTS, source="gatekeeper v3.23.0 website/docs/exempt-namespaces.md; failing-closed.md")
def gatekeeper_checks_more(change: Change) -> Impacts:
    """Gatekeeper checks the requests of more namespaces, or the cluster refuses requests without Gatekeeper.

    Running pods stay. While Gatekeeper does not run, a cluster that refuses requests starts no pods again.
    """
    yield from coverage_changes(change, checks_more=True)
