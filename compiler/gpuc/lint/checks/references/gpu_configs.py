from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from gpuc.cluster.index import Index
from gpuc.cluster.pool_fields import LABELS
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.embedded import document
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, pairs
from gpuc.objects.operator_values import CHART, config_maps, policy_values

NO_CONFIGURATION = rule_of("REF026")
NO_POLICY = rule_of("REF014")
DEVICE_PLUGIN: Final = "devicePlugin"
"""The key of the device plugin's settings in the chart's values and in a ClusterPolicy."""
MIG_MANAGER: Final = "migManager"
_LABELS = {DEVICE_PLUGIN: "nvidia.com/device-plugin.config", MIG_MANAGER: "nvidia.com/mig.config"}
"""Node labels by the operand (device plugin or MIG manager) that reads the label."""
_MIG_FILE = "config.yaml"
"""The key that the MIG manager reads in its ConfigMap (gpu-operator v26.7.0, assets/state-mig-manager)."""


class Configurations(NamedTuple):
    """The configurations of one operand of the GPU operator (device plugin or MIG manager) for node pools."""

    part: str
    source: str
    """The ConfigMap or the values key with the configurations, for messages."""
    texts: dict[str, Any]
    """Configurations by name: a string with YAML for the device plugin, parsed data for the MIG manager."""
    default: str
    """The name of the configuration for nodes without the label; empty if no default is set."""
    policy: Manifest | None
    """The ClusterPolicy with the default; None for the values of the chart."""

    @property
    def label(self) -> str:
        """The node label that selects a configuration."""
        return _LABELS[self.part]


@check(NO_CONFIGURATION, NO_POLICY)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about labels without a configuration, labels without effect, and a missing ClusterPolicy."""
    index = objects.once(Index)
    yield from _without_policy(index)
    for known in configurations(index):
        if known.policy is not None and known.default:
            path: Path = ("spec", known.part, "config", "default")
            yield from _unknown(known.policy, path, known.default, known)
        for pool in index.nodes.pools:
            name = pool.labels.get(known.label)
            yield from _unknown(pool.manifest, (*pool.place(LABELS), known.label), name, known)
    for pool in index.nodes.pools:
        for key, _ in pairs(dig(pool.manifest.body, *pool.place(LABELS))):
            if (suggestion := misspelt(key, _LABELS.values())) and key not in _LABELS.values():
                message = f'no program reads this label, did you mean "{suggestion}"'
                yield ObjectFinding(
                    NO_CONFIGURATION, pool.manifest, (*pool.place(LABELS), key), message, write(suggestion), True
                )
    off = [
        (part, label, f"ClusterPolicy {policy.name}" if policy else "the values of the GPU operator")
        for part, label in _LABELS.items()
        for settings, policy in operators(index)
        if dig(settings, part, "enabled") is False
    ]
    for part, label, place in off:
        for pool in index.nodes.pools:
            path = (*pool.place(LABELS), label)
            if dig(pool.manifest.body, *path) is not None:
                message = f"no program reads this label: {part}.enabled is false in {place}"
                yield ObjectFinding(NO_CONFIGURATION, pool.manifest, path, message, on_key=True)


def _without_policy(index: Index) -> Findings:
    values = index.tree.values.get(CHART)
    if not index.tree.is_complete or values is None or next(operators(index), None) is not None:
        return
    if dig(values, "gpuCluster", "deployCR") is not True:
        for source in index.delivery.sources:
            if source.chart == CHART:
                message = "the chart's values have clusterPolicy.deployCR: false, and there is no ClusterPolicy"
                yield ObjectFinding(NO_POLICY, source.application, source.path, message)


def operators(index: Index) -> Iterator[tuple[Any, Manifest | None]]:
    """Yields the settings of every GPU operator, with the ClusterPolicy; None for chart values that create one."""
    yield from ((dig(policy.body, "spec"), policy) for policy in index.tree.of("nvidia.com", "ClusterPolicy"))
    if (values := policy_values(index.tree)) is not None:
        yield values, None


def configurations(index: Index) -> Iterator[Configurations]:
    """Yields the configurations of the input: of ClusterPolicies, and of the chart's values."""
    for spec, policy in operators(index):
        for part in _LABELS:
            config = dig(spec, part, "config")
            if dig(spec, part, "enabled") is False or not isinstance(config, dict):
                continue
            texts, source = _data(config, part, index, is_chart=policy is None)
            if part == MIG_MANAGER:
                texts = dict(pairs(dig(document(index.tree, texts.get(_MIG_FILE)), "mig-configs")))
            default = dig(config, "default")
            if texts:
                yield Configurations(part, source, texts, default if isinstance(default, str) else "", policy)


def _data(config: Any, part: str, index: Index, *, is_chart: bool) -> tuple[dict[str, Any], str]:
    """Returns the data of the ConfigMap for one part of the operator, and a description of the data's source.

    The chart creates the ConfigMap, or the settings name it. A misspelt name counts as the similar existing name.
    """
    own = dict(pairs(dig(config, "data")))
    if is_chart and own and dig(config, "create") is True:
        return own, f"the GPU operator's values, {part}.config.data"
    created, written = config_maps(index.tree), index.tree.of("", "ConfigMap")
    names = [*created, *(manifest.name for manifest in written)]
    name = dig(config, "name")
    target = (name if name in names else misspelt(name, names)) if isinstance(name, str) else ""
    if target in created:
        owner, data = created[target]
        return data, f"the GPU operator's values, {owner}.config.data"
    named = [dict(pairs(dig(manifest.body, "data"))) for manifest in written if manifest.name == target]
    return named[0] if len(named) == 1 else {}, f"ConfigMap {target}"


def _unknown(manifest: Manifest, path: Path, name: Any, known: Configurations) -> Findings:
    if isinstance(name, str) and name and name not in known.texts:
        suggestion = misspelt(name, known.texts)
        message = f"in {known.source}: {missing('the configuration', name, known.texts, suggestion)}"
        yield ObjectFinding(NO_CONFIGURATION, manifest, path, message, write(suggestion))
