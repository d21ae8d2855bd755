"""Settings of the GPU operator that its ConfigMaps and the node pools contradict, of the chart and of a ClusterPolicy.

Source: NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/values.yaml, controllers/object_controls.go,
controllers/state_manager.go (gpuNodeLabels); NVIDIA/k8s-device-plugin v0.20.0 internal/rm/device_map.go
"""

from typing import Any

from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import LABELS, TAINTS
from gpuc.emit.component import component_named
from gpuc.kubernetes.toleration import Toleration, untolerated
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.lint.checks.references.gpu_configs import MIG_MANAGER, configurations, operators
from gpuc.lint.checks.references.taints import OPERATOR_KEPT_OFF
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import MIG_CONFIG_LABEL, OPERANDS_LABEL
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs
from gpuc.objects.operator_values import CHART, policy_values
from gpuc.objects.selectors import tolerations

NO_KEY = rule_of("REF016")
MIXED_LAYOUT = rule_of("REF017")
NOT_DISCOVERED = rule_of("REF018")
_DISCOVERY = "node-feature-discovery"
_FOUND_BY = {f"feature.node.kubernetes.io/pci-{name}.present" for name in ("10de", "0302_10de", "0300_10de")}
"""The labels by which the operator knows a node with GPUs. Node feature discovery sets the labels."""
_GPU_TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_OF_OPERANDS = [_GPU_TAINT]
_OF_WORKER = [{"key": "node-role.kubernetes.io/control-plane", "operator": "Equal", "effect": "NoSchedule"}, _GPU_TAINT]
"""The tolerations in the values of the chart."""


@check(NO_KEY, MIXED_LAYOUT, NOT_DISCOVERED, OPERATOR_KEPT_OFF)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about mounted keys, MIG layouts and taints that do not fit the settings of the GPU operator."""
    index = objects.once(Index)
    for settings, policy in operators(index):
        yield from _keys(
            index, settings, f"ClusterPolicy {policy.name}" if policy else "the values of the GPU operator"
        )
        strategy = dig(settings, "mig", "strategy")
        if strategy == "single" or (strategy is None and policy is None):  # the default of the chart
            yield from _mixed_layouts(index, policy)
    if (values := policy_values(index.tree)) is not None:
        yield from _not_discovered(index, values)


def _keys(index: Index, settings: Any, owner: str) -> Findings:
    facts = component_named(CHART)
    for value in facts.config_maps if facts else ():
        config = dig(settings, *value.path)
        is_off = dig(settings, value.path[0], "enabled") is False or dig(config, "create") is True
        if not value.mounted_key or is_off:
            continue
        named = [row for row in index.tree.of("", "ConfigMap") if row.name == dig(config, "name")]
        keys = [key for field in ("data", "binaryData") for row in named for key, _ in pairs(dig(row.body, field))]
        if len(named) == 1 and keys and value.mounted_key not in keys:
            message = f"{'.'.join(value.path)}.name of {owner} is this ConfigMap, and the pods mount its key "
            message += f"{value.mounted_key}, which it lacks"
            yield ObjectFinding(NO_KEY, named[0], ("data",), message, on_key=True)


def _mixed_layouts(index: Index, policy: Manifest | None) -> Findings:
    known = [row for row in configurations(index) if row.part == MIG_MANAGER and row.policy is policy]
    for pool in index.nodes.pools:
        name = pool.labels.get(MIG_CONFIG_LABEL, known[0].default if known else "")
        kinds = _kinds(known[0].texts.get(name)) if known else (["several profiles"] if name == "all-balanced" else [])
        if kinds and _has_gpus(pool):
            place = pool.place(LABELS)
            path = (*place, MIG_CONFIG_LABEL) if MIG_CONFIG_LABEL in pool.labels else place
            message = f"the MIG strategy of the GPU operator is single, but the layout {name} has {' and '.join(kinds)}"
            yield ObjectFinding(MIXED_LAYOUT, pool.manifest, path, message)


def _kinds(layout: Any) -> list[str]:
    """Returns the kinds of devices of a node with a MIG layout; empty for a layout with one kind.

    Entries with a filter are for other GPUs each.
    """
    entries: dict[str, list[str]] = {}
    for number, entry in items(layout):
        own = entries.setdefault(str(number) if dig(entry, "device-filter") else "", [])
        own += [str(profile) for profile, count in pairs(dig(entry, "mig-devices")) if count]
        own += ["whole GPUs"] if dig(entry, "mig-enabled") is False else []
    several = (list(dict.fromkeys(kinds)) for kinds in entries.values())
    return next((kinds for kinds in several if len(kinds) > 1), [])


def _not_discovered(index: Index, values: Any) -> Findings:
    """Yields findings about taints that the operands, or the program that finds nodes with GPUs, do not tolerate."""
    operands = _tolerations(values, ("daemonsets",), _OF_OPERANDS)
    worker = _tolerations(values, (_DISCOVERY, "worker"), _OF_WORKER)
    has_worker = dig(values, "nfd", "enabled") is not False
    for pool in index.nodes.pools:
        if not _has_gpus(pool) or pool.labels.get(OPERANDS_LABEL) == "false":
            continue
        if taint := untolerated(pool.taints, operands):
            message = f"daemonsets.tolerations in the values of the GPU operator do not match the taint {taint}"
            yield ObjectFinding(OPERATOR_KEPT_OFF, pool.manifest, (*pool.place(TAINTS), taint.index), message)
        elif has_worker and _FOUND_BY.isdisjoint(pool.labels) and (taint := untolerated(pool.taints, worker)):
            message = f"the operands of the GPU operator tolerate {taint}, but {_DISCOVERY}.worker.tolerations of its "
            message += "chart do not: the operator does not see the GPUs of these nodes"
            yield ObjectFinding(NOT_DISCOVERED, pool.manifest, (*pool.place(TAINTS), taint.index), message)


def _tolerations(values: Any, path: tuple[str, ...], default: list[dict[str, str]]) -> tuple[Toleration, ...]:
    section = dig(values, *path)
    return tolerations(section["tolerations"] if isinstance(section, dict) and "tolerations" in section else default)


def _has_gpus(pool: Pool) -> bool:
    return any(instance.gpu for name in pool.listed_types if (instance := pool.catalog.instances.get(name)))
