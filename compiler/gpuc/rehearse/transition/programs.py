"""The programs of a transition: one control plane for both states, and the restart of programs with new settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gpuc.kubernetes.node_pool import ZONE
from gpuc.manifest.manifest import Body
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.crds import Definitions
from gpuc.rehearse.plane import ControlPlane
from gpuc.rehearse.plane.karpenter import start_karpenter
from gpuc.rehearse.plane.kueue import start_kueue
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.ports import free_ports
from gpuc.rehearse.process import stop
from gpuc.rehearse.substitute import settings

READY_SECONDS = 120
_PORTS = 8
_KUEUE, _KARPENTER = "kueue", "karpenter-kwok"


def shared_settings(before: CompiledSpec, others: Iterable[CompiledSpec], definitions: Definitions) -> Settings:
    """Returns the settings of the state before, with the instance types and the pools of the other states added.

    Karpenter knows all instance types of EC2 in a real cluster, so a new instance type needs no restart. The resources
    of an instance type are those of the first state that uses it. Kueue and Gatekeeper run from
    the start if any state needs them.
    """
    first = settings(before, definitions)
    kueue_configuration, has_gatekeeper = first.kueue_configuration, first.has_gatekeeper
    types = {row["name"]: row for row in first.instance_types}
    stages = {row["metadata"]["name"]: row for row in first.node_stages}
    resources = dict.fromkeys(first.policy_resources)
    for spec in others:
        other = settings(spec, definitions)
        types = {row["name"]: row for row in other.instance_types} | types
        stages = {row["metadata"]["name"]: row for row in other.node_stages} | stages
        resources |= dict.fromkeys(other.policy_resources)
        kueue_configuration = kueue_configuration or other.kueue_configuration
        has_gatekeeper = has_gatekeeper or other.has_gatekeeper
    return replace(
        first,
        kueue_configuration=kueue_configuration,
        has_gatekeeper=has_gatekeeper,
        instance_types=tuple(_in_all_zones(types.values())),
        node_stages=tuple(stages.values()),
        policy_resources=tuple(resources),
    )


def _in_all_zones(types: Iterable[Body]) -> list[Body]:
    """Returns the instance types with offerings in the zones of all of them."""
    rows = list(types)
    zones = sorted({zone for row in rows for offering in row["offerings"] for zone in _zones(offering)})
    return [row | {"offerings": _offerings(row["offerings"], zones)} for row in rows]


def _offerings(offerings: Iterable[Body], zones: Iterable[str]) -> list[Body]:
    """Returns the offerings of an instance type, copied into the zones that it does not have."""
    known = list(offerings)
    present = {zone for offering in known for zone in _zones(offering)}
    sample = next(iter(present), "")
    missing = [zone for zone in zones if zone not in present]
    copies = [_moved(offering, zone) for zone in missing for offering in known if sample in _zones(offering)]
    return [*known, *copies]


def _moved(offering: Body, zone: str) -> Body:
    rows = [row | {"values": [zone]} if row["key"] == ZONE else row for row in offering["Requirements"]]
    return offering | {"Requirements": rows}


def _zones(offering: Body) -> list[str]:
    return [value for row in offering["Requirements"] if row["key"] == ZONE for value in row["values"]]


def restart_changed(plane: ControlPlane, running: Settings, spec: CompiledSpec, definitions: Definitions) -> Settings:
    """Restarts Kueue and Karpenter if the Helm values of a state change their settings, as a new Deployment would.

    Returns the settings with which the programs run now.
    """
    wanted = settings(spec, definitions)
    changed = []
    if running.kueue_configuration is not None and wanted.kueue_configuration not in (
        None,
        running.kueue_configuration,
    ):
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
    stop(process for process in site.processes if process.name in names)
    site.processes[:] = [process for process in site.processes if process.name not in names]
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
