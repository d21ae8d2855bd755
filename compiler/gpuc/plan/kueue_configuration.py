"""The configuration of Kueue before and after a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Raised

VALUES: Path = ("managerConfig", "controllerManagerConfigYaml")
"""The path of the configuration in the values of the chart.

Source: kueue v0.19.2 charts/kueue/values.yaml
"""
FRAMEWORKS = ("integrations", "frameworks")
"""The path of the kinds of jobs in the configuration."""


class ConfigurationChange(NamedTuple):
    """Two different configurations."""

    pair: Pair
    """The Helm values of Kueue."""
    before: Any
    after: Any

    def raised(self, message: str, *path: str, details: Iterable[str] = ()) -> Raised:
        """Returns an impact of the change of a field."""
        return Raised("component kueue", message, self.pair.after, (*VALUES, *path), tuple(details))

    def frameworks(self, *, added: bool) -> list[str]:
        """Returns the kinds of jobs that Kueue begins to manage, or does not manage any more."""
        before, after = (value or () for value in self.values(*FRAMEWORKS))
        some, others = (after, before) if added else (before, after)
        return [name for name in some if name not in others]

    def values(self, *path: str) -> tuple[Any, Any]:
        """Returns the values at a path before and after the change; None where the path does not exist."""
        return dig(self.before, *path), dig(self.after, *path)


def configuration_changes(change: Change) -> Iterator[ConfigurationChange]:
    """Yields the configurations of Kueue, if both states have Kueue and the configurations differ."""
    pair = change.values_of("kueue")
    if pair and pair.changes(*VALUES):
        texts = zip((change.before, change.after), pair.values(*VALUES), strict=True)
        before, after = (document(state.objects, text) for state, text in texts)
        if before and after and before != after:
            yield ConfigurationChange(pair, before, after)
