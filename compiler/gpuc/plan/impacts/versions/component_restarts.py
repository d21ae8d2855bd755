from gpuc.diagnostics.place import place
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact

_SHOWN = 4


@impact(
    "IMP603", Level.RESTRICTS, source="the charts in catalog/releases.json: checksums and arguments in pod templates"
)
def component_restarts(change: Change) -> Impacts:
    """The Helm values of a component change, so its programs usually restart.

    While they restart, Kueue admits nothing, Karpenter starts no node, and the webhooks of Kueue and Gatekeeper can
    refuse requests for some seconds. Running pods are not disturbed.
    """
    for pair in change.helm_values():
        if pair.is_changed:
            names = list(dict.fromkeys(place(field.path[:3]) for field in pair.fields))
            names = list(dict.fromkeys(name.removeprefix("metadata.") for name in names))
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            message = f"values {', '.join(names[:_SHOWN])}{more} change; its programs usually restart"
            yield Raised(f"component {pair.name}", message, pair.after, pair.fields[0].path)
