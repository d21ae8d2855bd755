import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from gpuc.cluster.application import application_in
from gpuc.cluster.index import Index
from gpuc.cluster.pool_fields import LABELS
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.emit.component import component_named
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import GPU, MIG_CONFIG_LABEL
from gpuc.objects.embedded import document
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs
from gpuc.objects.operator_values import CHART, config_maps, policy_values

NO_CONFIGURATION = rule_of("REF026")
NO_POLICY = rule_of("REF014")
MORE_THAN_ONE = rule_of("REF083")
NO_ROOM = rule_of("REF035")
NO_CONFIG = rule_of("VAL003")
MIXED_LAYOUT = rule_of("REF017")
DEVICE_PLUGIN: Final = "devicePlugin"
"""The key of the device plugin's settings in the chart's values and in a ClusterPolicy."""
MIG_MANAGER: Final = "migManager"
_LABELS = {DEVICE_PLUGIN: "nvidia.com/device-plugin.config", MIG_MANAGER: "nvidia.com/mig.config"}
"""Node labels by the operand (device plugin or MIG manager) that reads the label."""
OF_CHART: Final = "the values of the GPU operator"
"""The name of the Helm values in messages."""
_MIG_FILE = "config.yaml"
"""The key that the MIG manager reads in its ConfigMap (gpu-operator v26.7.0, assets/state-mig-manager)."""
SHARED = ".shared"
_SHARING = ("timeSlicing", "mps")
_ABOVE_ONE = re.compile("0*(?:[2-9]|[1-9][0-9]+)")
_PROFILE = re.compile(r"([12347])g\.\d+gb(?:\+[a-z.]+)?")
_COMPUTE, _MEMORY = 7, 8
"""Compute slices and memory slices of a GPU. Smaller models have fewer profiles."""
_SLICES = {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}
"""The smallest number of memory slices of a profile, by its number of compute slices."""


class Configurations(NamedTuple):
    """The named configurations of a program of the GPU Operator. A label of each node names its configuration."""

    part: str
    label: str
    """The node label whose value is the name of the node's configuration, for example nvidia.com/mig.config."""
    source: str
    """The ConfigMap or the values key with the configurations, for messages."""
    texts: dict[str, Any]
    """Configurations by name: a string with YAML for the device plugin, parsed data for the MIG manager."""
    default: str
    """The name of the configuration for nodes without the label; empty if no default is set."""
    policy: Manifest | None
    """The ClusterPolicy with the default; None for the values of the chart."""


@check(NO_CONFIGURATION, NO_POLICY)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about node labels that name no configuration or have no effect, and a missing ClusterPolicy."""
    index = objects.once(Index)
    yield from _without_policy(index)
    for known in configurations(index):
        if known.policy is not None and known.default:
            path: Path = ("spec", known.part, "config", "default")
            yield from _unknown(known.policy, path, known.default, known)
        for pool in index.nodes.pools:
            name = pool.labels.get(known.label)
            yield from _unknown(pool.manifest, (*pool.place(LABELS), known.label), name, known)
    off = {
        label: f": {part}.enabled is false in {policy or OF_CHART}"
        for part, label in _LABELS.items()
        for settings, policy in operators(index)
        if dig(settings, part, "enabled") is False and not _has_own_program(index, part)
    }
    for pool in index.nodes.pools:
        for key, _ in pairs(dig(pool.manifest.body, *pool.place(LABELS))):
            meant = "" if key in _LABELS.values() else misspelt(key, _LABELS.values())
            if why := off.get(key, meant and f', did you mean "{meant}"'):
                path, message = (*pool.place(LABELS), key), f"the GPU operator does not read this label{why}"
                yield ObjectFinding(NO_CONFIGURATION, pool.manifest, path, message, write(meant), on_key=True)


def _has_own_program(index: Index, part: str) -> bool:
    """Returns whether a chart or a container of the input contains the operand, or names the label of the operand."""
    facts = component_named(CHART)
    programs = [name for row in facts.config_maps if row.path[0] == part for name in row.programs] if facts else []
    texts = [*index.delivery.charts, *(str(row) for pods in index.pods for _, row in pods.containers())]
    # Flux and k3s have charts in spec.chart; an OCIRepository of Flux has the address of a chart in spec.url.
    texts += [str(dig(row.body, "spec", field)) for row in index.tree.manifests for field in ("chart", "url")]
    return any(name in text for text in texts for name in (*programs, f"{_LABELS[part]}'"))


def _without_policy(index: Index) -> Findings:
    values = index.tree.values.get(CHART)
    if not index.tree.is_complete or values is None or next(operators(index), None) is not None:
        return
    for source in index.delivery.sources if dig(values, "gpuCluster", "deployCR") is not True else ():
        if source.chart == CHART:
            message = "the chart's values have clusterPolicy.deployCR: false, and there is no ClusterPolicy"
            yield ObjectFinding(NO_POLICY, source.application, source.path, message)


def operators(index: Index) -> Iterator[tuple[Any, Manifest | None]]:
    """Yields the settings of every GPU Operator and its ClusterPolicy, which is None for settings in Helm values."""
    yield from ((dig(policy.body, "spec"), policy) for policy in index.tree.of("nvidia.com", "ClusterPolicy"))
    if (values := policy_values(index.tree)) is not None:
        yield values, None


def configurations(index: Index) -> Iterator[Configurations]:
    """Yields the configurations in the input: of ClusterPolicies, and of the Helm values of the GPU Operator."""
    for spec, policy in operators(index):
        for part, label in _LABELS.items():
            config = dig(spec, part, "config")
            if dig(spec, part, "enabled") is False or not isinstance(config, dict):
                continue
            texts, source = _data(config, part, index, is_chart=policy is None)
            if part == MIG_MANAGER:
                texts = dict(pairs(dig(document(index.tree, texts.get(_MIG_FILE)), "mig-configs")))
            if texts:
                default = dig(config, "default")
                yield Configurations(part, label, source, texts, default if isinstance(default, str) else "", policy)


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


@check(MORE_THAN_ONE)
def shared_requests(objects: ObjectSet) -> Findings:
    """Yields findings about containers that request more than one GPU share, which all configurations forbid."""
    index = objects.once(Index)
    refused = _refused(index)
    for pods in index.pods if refused else ():
        body, reported = pods.manifest.document(), set[Path]()
        for path, name in pods.resources():
            owner = (*path[:-2], name)  # a container can have the amount in limits and in requests
            if name in refused and owner not in reported and _ABOVE_ONE.fullmatch(str(dig(body, *path))):
                reported.add(owner)
                message = f"the container requests more than one {name}, but the device plugin's configuration "
                yield ObjectFinding(MORE_THAN_ONE, pods.manifest, path, f"{message}allows one")


def _refused(index: Index) -> set[str]:
    """Returns the resources of which no configuration of the device plugin allows more than one."""
    known = [configs for configs in configurations(index) if configs.part == DEVICE_PLUGIN]
    strict: set[str] = set()
    lenient: set[str] = set()
    for text in (text for configs in known for text in configs.texts.values()):
        config = document(index.tree, text)
        shared: set[str] = set()
        for kind in _SHARING:
            sharing = dig(config, "sharing", kind)
            setting = dig(sharing, "failRequestsGreaterThanOne")
            is_strict = setting is True or (setting is None and kind == "mps")  # the default with MPS
            names = set(_names(sharing))
            (strict if is_strict else lenient).update(names)
            shared |= names
        lenient |= {GPU} - shared  # nodes with this configuration advertise whole GPUs
    # Nodes without a configuration advertise whole GPUs too.
    return strict - lenient - (set() if known and all(configs.default in configs.texts for configs in known) else {GPU})


def _names(sharing: Any) -> Iterator[str]:
    """Yields the names of shared resources. Without renameByDefault, they are those of unshared devices.

    Source: NVIDIA/k8s-device-plugin v0.20.0 api/config/v1/replicas.go (disableResoureRenaming): rename is ignored
    """
    suffix = SHARED if dig(sharing, "renameByDefault") is True else ""
    names = (dig(row, "name") for _, row in items(dig(sharing, "resources")))
    yield from (f"{name}{suffix}" for name in names if isinstance(name, str))


@check(NO_ROOM)
def mig_layouts(objects: ObjectSet) -> Findings:
    """Yields findings about MIG layouts in configurations of mig-parted that need more slices than a GPU has."""
    index = objects.once(Index)
    for manifest in index.tree.of("", "ConfigMap"):
        for key, text in pairs(dig(manifest.body, "data")):
            if not isinstance(text, str) or "mig-configs" not in text or "mig-devices" not in text:
                continue
            for name, entries in pairs(dig(document(index.tree, text), "mig-configs")):
                for number, entry in items(entries):
                    if message := _excess(dig(entry, "mig-devices")):
                        path = ("data", key, "mig-configs", str(name), number, "mig-devices")
                        yield ObjectFinding(NO_ROOM, manifest, path, message)


def _excess(devices: Any) -> str:
    """Returns the message about a layout that needs too many slices; an empty string for other layouts."""
    compute = memory = 0
    for profile, count in pairs(devices):
        match = _PROFILE.fullmatch(str(profile))
        if match is None or isinstance(count, bool) or not isinstance(count, int) or count < 0:
            return ""
        compute += count * int(match[1])
        memory += count * _SLICES[int(match[1])]
    if compute <= _COMPUTE and memory <= _MEMORY:
        return ""
    needed = f"the layout needs {compute} compute slices and {memory} memory slices"
    return f"{needed}; a GPU has {_COMPUTE} compute slices and {_MEMORY} memory slices"


@check(NO_CONFIG, MIXED_LAYOUT, NO_ROOM)
def settings(objects: ObjectSet) -> Findings:
    """Yields findings about ConfigMaps, and about MIG layouts, that do not fit the settings of the GPU Operator."""
    index = objects.once(Index)
    for spec, policy in operators(index):
        yield from _keys(index, spec, str(policy or OF_CHART))
        known = [row for row in configurations(index) if row.part == MIG_MANAGER and row.policy is policy]
        strategy = dig(spec, "mig", "strategy")
        if strategy == "single" or (strategy is None and policy is None):  # the default of the chart
            yield from _mixed_layouts(index, known)
        yield from _foreign_profiles(index, known)


def _keys(index: Index, settings: Any, owner: str) -> Findings:
    facts = component_named(CHART)
    sources = (source for source in index.delivery.sources if source.chart == CHART)
    homes = {application_in(source.application).destination.namespace for source in sources} - {""}
    for value in facts.config_maps if facts else ():
        config, is_off = dig(settings, *value.path), dig(settings, value.path[0], "enabled") is False
        named = [row for row in index.tree.of("", "ConfigMap") if row.name == dig(config, "name")]
        keys = [key for field in ("data", "binaryData") for row in named for key, _ in pairs(dig(row.body, field))]
        is_read = not is_off and dig(config, "create") is not True
        subject = f"{'.'.join(value.path)}.name of {owner} is this ConfigMap, and the pods"
        if is_read and homes and named and all(row.namespace and row.namespace not in homes for row in named):
            message, path = f"{subject} are in namespace {', '.join(sorted(homes))}", ("metadata", "namespace")
            yield ObjectFinding(NO_CONFIG, named[0], path, message, needs="all objects")
        elif is_read and value.mounted_key and len(named) == 1 and keys and value.mounted_key not in keys:
            message = f"{subject} mount its key {value.mounted_key}, which it lacks"
            yield ObjectFinding(NO_CONFIG, named[0], ("data",), message, on_key=True, needs="one cluster")


def _mixed_layouts(index: Index, known: list[Configurations]) -> Findings:
    for pool in index.nodes.pools:
        name = pool.labels.get(MIG_CONFIG_LABEL, known[0].default if known else "")
        kinds = _kinds(known[0].texts.get(name)) if known else (["several profiles"] if name == "all-balanced" else [])
        if kinds and pool.lists_gpus:
            path = (*pool.place(LABELS), *((MIG_CONFIG_LABEL,) if MIG_CONFIG_LABEL in pool.labels else ()))
            message = f"the MIG strategy of the GPU operator is single, but the layout {name} has {' and '.join(kinds)}"
            yield ObjectFinding(MIXED_LAYOUT, pool.manifest, path, message)


def _foreign_profiles(index: Index, known: list[Configurations]) -> Findings:
    """Yields findings about selected MIG layouts with profiles that no GPU of the node pool has."""
    for pool in index.nodes.pools:
        layout = known[0].texts.get(pool.labels.get(MIG_CONFIG_LABEL, "")) if known else None
        types = [pool.catalog.instances.get(name) for name in pool.listed_types]
        sets = [pool.catalog.profile_sets.get(instance.gpu) if instance else None for instance in types]
        own = {name for row in sets if row for name in row.profiles}
        entries = (dig(entry, "mig-devices") for _, entry in items(layout) if not dig(entry, "device-filter"))
        wanted = [str(profile) for devices in entries for profile, count in pairs(devices) if count]
        if own and all(sets) and (foreign := [profile for profile in wanted if profile not in own]):
            message = f"the layout has {foreign[0]}, which no GPU of the pool has; it has {', '.join(sorted(own))}"
            yield ObjectFinding(NO_ROOM, pool.manifest, (*pool.place(LABELS), MIG_CONFIG_LABEL), message)


def _kinds(layout: Any) -> list[str]:
    """Returns the kinds of devices of a node with a MIG layout; empty for one. A filter selects other nodes."""
    entries: dict[str, list[str]] = {}
    for number, entry in items(layout):
        own = entries.setdefault(str(number) if dig(entry, "device-filter") else "", [])
        own += [str(profile) for profile, count in pairs(dig(entry, "mig-devices")) if count]
        own += ["whole GPUs"] if dig(entry, "mig-enabled") is False else []
    several = (list(dict.fromkeys(kinds)) for kinds in entries.values())
    return next((kinds for kinds in several if len(kinds) > 1), [])
