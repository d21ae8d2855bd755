from gpuc.diagnostics.place import place
from gpuc.diagnostics.words import first_names
from gpuc.plan.change import Change
from gpuc.plan.chart_changes import values_of_other_team
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.programs import is_only_audit, restart_effect, restarting_values

_SHOWN = 4


@impact(
    "IMP603",
    Level.RESTRICTS,
    source="kueue v0.19.2 charts/kueue/templates/manager/manager.yaml (config-checksum), and the pod templates of the "
    "other charts",
)
def component_restarts(change: Change) -> Impacts:
    """The Helm values of a component change, and its programs restart.

    While they restart, Kueue admits nothing, or Karpenter starts no node, usually for some seconds. If no replica of
    Gatekeeper answers, the failure policy of its webhook counts. Running pods are not disturbed. A value that is in no
    pod, for example the number of replicas, restarts no program.
    """
    for pair in change.helm_values():
        fields = restarting_values(pair)
        if fields and not values_of_other_team(pair.after):
            names = list(dict.fromkeys(place(field.path[:3]).removeprefix("metadata.") for field in fields))
            programs, effect = "programs restart", restart_effect(change, pair.name)
            if is_only_audit(pair.name, fields):
                programs, effect = "audit pod restarts", "Gatekeeper continues to check requests"
            message = f"its {programs}, because values change: {first_names(names, _SHOWN)}"
            yield Raised(f"component {pair.name}", message, pair.after, fields[0].path, (effect,) if effect else ())
