"""The configuration of Kueue before and after a change."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.state import State

VALUES: Path = ("managerConfig", "controllerManagerConfigYaml")
"""The path of the configuration in the values of the chart.

Source: kueue v0.19.2 charts/kueue/values.yaml
"""


class ConfigurationChange(NamedTuple):
    """Two different configurations."""

    pair: Pair
    """The Helm values of Kueue."""
    before: Any
    after: Any

    def values(self, *path: str) -> tuple[Any, Any]:
        """Returns the values at a path before and after the change; None where the path does not exist."""
        return dig(self.before, *path), dig(self.after, *path)


def configuration_change(change: Change) -> ConfigurationChange | None:
    """Returns the configurations of Kueue; None if Kueue is not in both states, or its configuration is the same."""
    pair = next((pair for pair in change.helm_values() if pair.name == "kueue"), None)
    if pair is None or not pair.changes(*VALUES):
        return None
    before, after = (_configuration(state) for state in (change.before, change.after))
    return ConfigurationChange(pair, before, after) if before and after and before != after else None


def _configuration(state: State) -> Any:
    values = next((one for one in state.values if one.name == "kueue"), None)
    return document(state.objects, dig(values.body, *VALUES)) if values else None
