"""The programs of a transition: one control plane for both states, and the restart of programs with new settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.crds import Definitions
from gpuc.rehearse.instance_types import zones_of
from gpuc.rehearse.plane import ControlPlane
from gpuc.rehearse.plane.kueue import start_kueue
from gpuc.rehearse.plane.kwok import start_karpenter
from gpuc.rehearse.plane.site import Settings
from gpuc.rehearse.process import free_ports
from gpuc.rehearse.substitute import settings

READY_SECONDS = 120
_PORTS = 8
_KUEUE, _KARPENTER = "kueue", "karpenter-kwok"


def shared_settings(before: CompiledSpec, others: Iterable[CompiledSpec], definitions: Definitions) -> Settings:
    """Returns the settings of the state before, with the instance types and the pools of the other states added.

    Karpenter knows all instance types of EC2 in a real cluster, so a new instance type needs no restart. All of them
    have offerings in the zones of all states, and the resources of the first state that uses them. Kueue and Gatekeeper
    run from the start if any state needs them.
    """
    specs = (before, *others)
    zones = sorted({zone for spec in specs for zone in zones_of(spec.cluster)})
    first = settings(before, definitions, zones)
    kueue_configuration, has_gatekeeper = first.kueue_configuration, first.has_gatekeeper
    types = {row["name"]: row for row in first.instance_types}
    stages = {row["metadata"]["name"]: row for row in first.node_stages}
    resources = dict.fromkeys(first.policy_resources)
    for spec in specs[1:]:
        other = settings(spec, definitions, zones)
        types = {row["name"]: row for row in other.instance_types} | types
        stages = {row["metadata"]["name"]: row for row in other.node_stages} | stages
        resources |= dict.fromkeys(other.policy_resources)
        kueue_configuration = kueue_configuration or other.kueue_configuration
        has_gatekeeper = has_gatekeeper or other.has_gatekeeper
    return replace(
        first,
        kueue_configuration=kueue_configuration,
        has_gatekeeper=has_gatekeeper,
        instance_types=tuple(types.values()),
        node_stages=tuple(stages.values()),
        policy_resources=tuple(resources),
    )


def restart_changed(plane: ControlPlane, running: Settings, spec: CompiledSpec, definitions: Definitions) -> Settings:
    """Restarts Kueue and Karpenter if the Helm values of a state change their settings, as a new Deployment would.

    Returns the settings with which the programs run now.
    """
    wanted = settings(spec, definitions)
    changed = []
    known = running.kueue_configuration
    if known is not None and wanted.kueue_configuration not in (None, known):
        changed.append(_KUEUE)
    if wanted.karpenter_gates != running.karpenter_gates:
        changed.append(_KARPENTER)
    if not changed:
        return running
    now = replace(
        running,
        kueue_configuration=wanted.kueue_configuration or running.kueue_configuration,
        karpenter_gates=wanted.karpenter_gates,
    )
    _restart(plane, now, changed)
    return now


def repeat_events(plane: ControlPlane, running: Settings) -> None:
    """Restarts Karpenter, so that it says again what keeps a node.

    Karpenter publishes one event of a kind about a node in two minutes, also if the reason differs, and the events
    about the start of a node are of the same kind.

    Source: sigs.k8s.io/karpenter v1.14.1 pkg/events/recorder.go (shouldCreateEvent)
    """
    _restart(plane, running, [_KARPENTER])


def _restart(plane: ControlPlane, wanted: Settings, names: list[str]) -> None:
    site = plane.site
    site._ports = free_ports(_PORTS)
    site.stop(names)
    starts: Mapping[str, Callable[[], object]] = {
        _KUEUE: lambda: start_kueue(site, wanted.kueue_configuration or {}, _kueue_port(plane)),
        _KARPENTER: lambda: start_karpenter(site, wanted),
    }
    for name in names:
        starts[name]()
    for process in site.processes:
        process.wait_ready(READY_SECONDS)


def _kueue_port(plane: ControlPlane) -> int:
    configuration = json.loads((plane.site.folder / "kueue.json").read_text(encoding="utf-8"))
    return int(configuration["webhook"]["port"])
