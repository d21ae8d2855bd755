"""The settings of a cluster that gpuc copies from the spec into the output without a model of their meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpuc.model import Cluster
from gpuc.spec.patches import Patch


@dataclass(frozen=True, slots=True)
class Outside:
    """The settings of one kind, for the README of the cluster."""

    count: int
    noun: str
    """The noun for one setting, for example "patch"."""
    plural: str
    entries: tuple[str, ...]
    """A line in Markdown for each entry of the spec."""

    @property
    def summary(self) -> str:
        """The number with the noun: "1 patch"."""
        return f"{self.count} {self.noun if self.count == 1 else self.plural}"


def outside_of_model(cluster: Cluster) -> list[Outside]:
    """Returns the settings that the cluster has, by kind; empty for a cluster without such settings."""
    return [kind for kind in _all(cluster) if kind.count]


def _all(cluster: Cluster) -> tuple[Outside, ...]:
    manifests = Outside(len(cluster.user_manifests), "manifest", "manifests", ("the objects in `extra/`",))
    return _values(cluster), _patches(cluster), _charts(cluster), manifests, _user_data(cluster)


def _user_data(cluster: Cluster) -> Outside:
    """Returns the texts of user data in the spec, each with the pools whose nodes get the text."""
    pools: dict[str, list[str]] = {}
    for pool in cluster.pools:
        if pool.own_user_data:
            pools.setdefault(pool.own_user_data, []).append(f"`{pool.name}`")
    entries = (f"nodes of {', '.join(names)}" for names in pools.values())
    return Outside(len(pools), "text of user data", "texts of user data", tuple(entries))


def _charts(cluster: Cluster) -> Outside:
    charts = cluster.spec.charts
    entries = (f"`{name}`: {chart.chart} {chart.version} of {chart.repository}" for name, chart in charts.items())
    return Outside(len(charts), "chart", "charts", tuple(entries))


def _values(cluster: Cluster) -> Outside:
    paths = {name: list(_leaves(settings.values)) for name, settings in cluster.spec.components.items()}
    entries = (f"`{name}`: {', '.join(f'`{path}`' for path in found)}" for name, found in paths.items() if found)
    return Outside(sum(map(len, paths.values())), "value", "values", tuple(entries))


def _leaves(values: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields the path of every value that is no map, with dots between the keys."""
    for key, value in values.items():
        path = f"{prefix}{key}".replace("`", "'")
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{path}.")
        else:
            yield path


def _patches(cluster: Cluster) -> Outside:
    patches = cluster.spec.patches
    return Outside(len(patches), "patch", "patches", tuple(map(_patch, patches)))


def _patch(patch: Patch) -> str:
    """Returns the target of a patch and the reason: "NodePool train-*: the audit agent needs a label"."""
    target = patch.target
    namespace = f"{target.namespace}/" if target.namespace else ""
    return f"`{target.kind} {namespace}{target.name}`" + (f": {patch.why}" if patch.why else "")
