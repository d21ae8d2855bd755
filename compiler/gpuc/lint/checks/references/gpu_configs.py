"""Configurations of the GPU operator, against the labels of node pools that choose one of them by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.manifest.manifest import Manifest
from gpuc.objects.embedded import document
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, pairs
from gpuc.objects.operator_values import CHART, config_maps, policy_values

NO_CONFIGURATION = declare_rule(
    "REF026",
    Severity.ERROR,
    "A node pool chooses a configuration of the GPU operator that does not exist.",
    "The device plugin's pod ends with an error on every such node, before it offers any GPU; the MIG manager leaves "
    "the GPUs as they are, with nvidia.com/mig.config.state at failed. The nodes cost and serve nobody.",
    "k8s-device-plugin v0.20.0, cmd/config-manager/main.go (updateConfigName); "
    "mig-parted, cmd/nvidia-mig-manager/reconfigure_mig.go (assertValidMIGConfig)",
)
NO_POLICY = declare_rule(
    "REF014",
    Severity.ERROR,
    "The values of the GPU Operator's chart switch its ClusterPolicy off, and no other is there.",
    "The operator runs and deploys nothing: no node offers a GPU.",
    "NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/templates/clusterpolicy.yaml",
)
DEVICE_PLUGIN: Final = "devicePlugin"
"""The part of the chart's values, and of a ClusterPolicy, that shares GPUs out."""
MIG_MANAGER: Final = "migManager"
_LABELS = {DEVICE_PLUGIN: "nvidia.com/device-plugin.config", MIG_MANAGER: "nvidia.com/mig.config"}
"""Labels of nodes by the part of the operator that reads them."""
_MIG_FILE = "config.yaml"
"""The key of the MIG manager's ConfigMap that it reads (gpu-operator v26.7.0, assets/state-mig-manager)."""
_POOL_LABELS: Path = ("spec", "template", "metadata", "labels")


class Choice(NamedTuple):
    """What node pools may choose from, of one part of the operator."""

    part: str
    source: str
    """Where the configurations stand, for messages."""
    texts: dict[str, Any]
    """Configurations by name: YAML text of the device plugin's, a document of the MIG manager's."""
    default: str
    """What nodes without the label get; empty where that is not said."""
    policy: Manifest | None
    """The ClusterPolicy that says so; None for values of the chart."""

    @property
    def label(self) -> str:
        """The label by which nodes choose."""
        return _LABELS[self.part]


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Labels that name no configuration, labels that nothing reads, and operators without a policy."""
    yield from _without_policy(index)
    for each in choices(index):
        if each.policy is not None and each.default:
            path: Path = ("spec", each.part, "config", "default")
            yield from _flaw(each.policy, path, each.default, each)
        for pool in index.nodes.pools:
            label = dig(pool.manifest.body, *_POOL_LABELS, each.label)
            yield from _flaw(pool.manifest, (*_POOL_LABELS, each.label), label, each)
    for pool in index.nodes.pools:
        for key, _ in pairs(dig(pool.manifest.body, *_POOL_LABELS)):
            if (near := misspelt(key, _LABELS.values())) and key not in _LABELS.values():
                message = f'nothing reads this label, did you mean "{near}"'
                yield ObjectFinding(NO_CONFIGURATION, pool.manifest, (*_POOL_LABELS, key), message, write(near), True)
    for part, label in _LABELS.items():
        for settings, policy in operators(index):
            if dig(settings, part, "enabled") is False:
                yield from _unread(index, part, label, policy)


def _unread(index: Index, part: str, label: str, policy: Manifest | None) -> Iterator[ObjectFinding]:
    """Labels of node pools that a part of the operator would read, were it not switched off."""
    where = f"ClusterPolicy {policy.name}" if policy else "the values of the GPU operator"
    for pool in index.nodes.pools:
        if dig(pool.manifest.body, *_POOL_LABELS, label) is not None:
            message = f"nothing reads this label: {part}.enabled is false in {where}"
            yield ObjectFinding(NO_CONFIGURATION, pool.manifest, (*_POOL_LABELS, label), message, on_key=True)


def _without_policy(index: Index) -> Iterator[ObjectFinding]:
    values = index.tree.values.get(CHART)
    if not index.tree.is_complete or values is None or next(operators(index), None) is not None:
        return
    if dig(values, "gpuCluster", "deployCR") is not True:
        for source in index.delivery.sources:
            if source.chart == CHART:
                message = "the chart's values have clusterPolicy.deployCR: false, and there is no ClusterPolicy"
                yield ObjectFinding(NO_POLICY, source.application, source.path, message)


def operators(index: Index) -> Iterator[tuple[Any, Manifest | None]]:
    """The settings of every GPU operator: of ClusterPolicies, and of values that the chart renders one from."""
    yield from ((dig(policy.body, "spec"), policy) for policy in index.tree.of("nvidia.com", "ClusterPolicy"))
    if (values := policy_values(index.tree)) is not None:
        yield values, None


def choices(index: Index) -> Iterator[Choice]:
    """Configurations that are in the tree: of ClusterPolicies, and of the chart's values."""
    for spec, policy in operators(index):
        for part in _LABELS:
            config = dig(spec, part, "config")
            if dig(spec, part, "enabled") is False or not isinstance(config, dict):
                continue
            data, source = _data(config, part, index, is_chart=policy is None)
            texts = data if part == DEVICE_PLUGIN else _layouts(data, index)
            default = dig(config, "default")
            if texts:
                yield Choice(part, source, texts, default if isinstance(default, str) else "", policy)


def _data(config: Any, part: str, index: Index, *, is_chart: bool) -> tuple[dict[str, Any], str]:
    """The data of the ConfigMap that the chart makes, or whose name is given, be it misspelt; where it stands."""
    own = dict(pairs(dig(config, "data")))
    if is_chart and own and dig(config, "create") is True:
        return own, f"the GPU operator's values, {part}.config.data"
    made, kept = config_maps(index.tree), index.tree.of("", "ConfigMap")
    names = [*made, *(manifest.name for manifest in kept)]
    name = dig(config, "name")
    meant = (name if name in names else misspelt(name, names)) if isinstance(name, str) else ""
    if meant in made:
        where, data = made[meant]
        return data, f"the GPU operator's values, {where}.config.data"
    found = [dict(pairs(dig(manifest.body, "data"))) for manifest in kept if manifest.name == meant]
    return found[0] if len(found) == 1 else {}, f"ConfigMap {meant}"


def _layouts(data: dict[str, Any], index: Index) -> dict[str, Any]:
    return dict(pairs(dig(document(index.tree, data.get(_MIG_FILE)), "mig-configs")))


def _flaw(manifest: Manifest, path: Path, name: Any, choice: Choice) -> Iterator[ObjectFinding]:
    if isinstance(name, str) and name and name not in choice.texts:
        near = misspelt(name, choice.texts)
        message = f"in {choice.source}: {missing('the configuration', name, choice.texts, near)}"
        yield ObjectFinding(NO_CONFIGURATION, manifest, path, message, write(near))
