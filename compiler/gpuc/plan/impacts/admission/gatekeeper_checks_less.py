from gpuc.plan.change import Change
from gpuc.plan.gatekeeper_coverage import coverage_changes
from gpuc.plan.impact import Impacts, Level, impact


@impact("IMP311", Level.NONE, source="gatekeeper v3.23.0 website/docs/exempt-namespaces.md; failing-closed.md")
def gatekeeper_checks_less(change: Change) -> Impacts:
    """Gatekeeper ignores the requests of more namespaces, or the cluster accepts requests without Gatekeeper.

    Nothing that runs is disturbed. The policies of Gatekeeper do not protect the cluster from these requests.
    """
    yield from coverage_changes(change, checks_more=False)
