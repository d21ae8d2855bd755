from gpuc.diagnostics.place import place
from gpuc.diagnostics.words import first_names
from gpuc.plan.change import Change
from gpuc.plan.chart_changes import values_of_other_team
from gpuc.plan.impact import Impacts, Level, Raised, impact

_SHOWN = 4


@impact("IMP611", Level.RESTRICTS, source="the reasons of the Helm values in clusters/CLUSTER/README.md")
def values_for_other_team(change: Change) -> Impacts:
    """The Helm values of a component change that another team installs.

    Argo CD does not apply these values. Until the other team installs them, the objects of gpuc rely on values that the
    program does not have, for example frameworks of Kueue or feature gates of Karpenter.
    """
    for pair in change.helm_values():
        if values_of_other_team(pair.before) and values_of_other_team(pair.after) and pair.fields:
            names = list(dict.fromkeys(place(field.path[:3]) for field in pair.fields))
            message = f"the team that installs the chart has to change values: {first_names(names, _SHOWN)}"
            details = (f"the values: {pair.manifest.file}", "the objects of gpuc do not wait for this change")
            yield Raised(f"component {pair.name}", message, pair.after, pair.fields[0].path, details)
