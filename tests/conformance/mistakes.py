"""Mistakes of users in the objects of prod-use1, and where the rehearsal must show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from gpuc.trace.steps import Component
from gpuc_rehearsal.plane.site import Settings
from gpuc_rehearsal.suites import Case
from tests.conformance import object_edits
from tests.conformance.object_edits import Edit
from tests.conformance.shared_plane import kueue_configuration


@dataclass(frozen=True)
class Mistake:
    """A mistake of a user and its expected effect in the rehearsal."""

    pitfall: str
    """The id of the pitfall, such as KRP-001."""
    title: str
    """A sentence that describes the mistake."""
    step: str
    """Where the mistake must show: apply, health, or the name of a suite."""
    component: Component | str
    """The component that must report the mistake."""
    message: str
    """A part of the component's message; empty if a test case expects a refusal and the mistake prevents it."""
    edit: Edit | None = None
    """Makes the mistake in the documents."""
    settings: Callable[[Settings], Settings] | None = None
    """Makes the mistake in the settings of the programs."""
    case: str = ""
    """A part of the name of the test case that must fail."""
    verdict: str = ""
    """The actual verdict of the test case; empty for any verdict except the expected one."""
    sooner: str = ""
    """A part of the message that shows the mistake if a component acts before the test case sees the usual state."""

    def must_fail(self, case: Case) -> bool:
        """Returns whether the mistake must make a test case fail."""
        return bool(self.case) and f" {self.case}" in f" {case.name}"


def _disable_overlays(settings: Settings) -> Settings:
    return replace(settings, feature_gates={**settings.feature_gates, "NodeOverlay": False})


def _shorten_timeout(settings: Settings) -> Settings:
    """Sets waitForPodsReady to 1 s, because simulated nodes boot in seconds."""
    configuration = kueue_configuration(settings)
    wait = {**configuration["waitForPodsReady"], "timeout": "1s"}
    return replace(settings, kueue_configuration={**configuration, "waitForPodsReady": wait})


def _gate_all_pods(settings: Settings) -> Settings:
    """Enables Kueue's pod integration, and lets Kueue manage pods without a queue."""
    configuration = kueue_configuration(settings)
    frameworks = [*configuration["integrations"]["frameworks"], "pod"]
    changed = {
        **configuration,
        "integrations": {**configuration["integrations"], "frameworks": frameworks},
        "manageJobsWithoutQueueName": True,
    }
    return replace(settings, kueue_configuration=changed)


_SETTINGS = {
    "disable_overlays": _disable_overlays,
    "shorten_timeout": _shorten_timeout,
    "gate_all_pods": _gate_all_pods,
}


def _mistake(row: dict[str, Any]) -> Mistake:
    """Returns the mistake of a row: an edit has the name of a function of object_edits and its arguments."""
    edits = [getattr(object_edits, name)(*values) for edit in row.get("edits", ()) for name, values in edit.items()]
    edit = object_edits.combine(*edits) if edits else None
    settings = _SETTINGS[row["settings"]] if "settings" in row else None
    return Mistake(row["pitfall"], row["title"], edit=edit, settings=settings, **row["shown"])


MISTAKES = tuple(map(_mistake, yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))))

NOT_DETECTED = {
    "GKP-001": "Gatekeeper's own Config excludes the platform, so a constraint without a selector has no effect there; "
    "both objects have to be wrong",
    "KRP-002": "if a capacity is too high, Karpenter starts a node for too many pods, and further nodes for the pods "
    "that do not fit; only a pod larger than a node would stay pending, and the policy gpu-limits denies that pod",
    "KRP-005": "nodes are simulated, and no rehearsal runs for days",
    "EFA-001, EFA-002": "simulated nodes have all devices from the start; the rehearsal has no device plugin and no "
    "launch template",
    "MIG-001, MIG-002, MIG-003, MIG-004, MIG-005": "no driver partitions a GPU; simulated nodes advertise the slices "
    "of the layout",
    "SHR-001": "the rehearsal has no device plugin",
    "GPU-001, GPU-002, GPU-003": "the rehearsal has no GPU Operator and no container runtime; DaemonSets start no pods",
    "NET-001, NET-002": "the rehearsal does not enforce NetworkPolicies; `gpuc isolation` analyzes them",
    "ARG-002": "without --argocd, the rehearsal has no Argo CD, so nothing prunes objects",
    "KUE-006": "a real node takes minutes and a simulated node takes seconds; the mistake here therefore uses 1 s",
}
"""Pitfalls with a star that the rehearsal cannot show, with the reason."""
