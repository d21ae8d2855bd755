from gpuc.diagnostics.place import place
from gpuc.plan.change import Change
from gpuc.plan.chart_installations import values_of_other_team
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.programs import restart_effect, restarting_values

_SHOWN = 4


@impact(
    "IMP603",
    Level.RESTRICTS,
    source="kueue v0.19.2 charts/kueue/templates/manager/manager.yaml, config-checksum, and the other charts",
)
def component_restarts(change: Change) -> Impacts:
    """The Helm values of a component change, and its programs restart.

    While they restart, Kueue admits nothing, Karpenter starts no node, or Gatekeeper checks no request, usually for
    some seconds. Running pods are not disturbed.
    """
    for pair in change.helm_values():
        fields = restarting_values(pair)
        if fields and not values_of_other_team(pair.after):
            names = list(dict.fromkeys(place(field.path[:3]).removeprefix("metadata.") for field in fields))
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            message = f"its programs restart, because values change: {', '.join(names[:_SHOWN])}{more}"
            effect = restart_effect(change, pair.name)
            yield Raised(f"component {pair.name}", message, pair.after, fields[0].path, (effect,) if effect else ())
