"""Mistakes of users in the objects of prod-use1, and where the rehearsal must show them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from gpuc.trace.steps import Component
from gpuc_rehearsal.plane.site import Settings
from gpuc_rehearsal.suites import Case
from tests.conformance import object_edits
from tests.conformance.object_edits import Documents, Edit
from tests.conformance.shared_plane import kueue_configuration
from tests.tables import table


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
    is_slow: bool = False
    """Whether its test case waits for a time limit; only `make conformance-all` makes the mistake."""

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
    edits = [(getattr(object_edits, name), values) for edit in row.get("edits", ()) for name, values in edit.items()]

    def edit(documents: Documents) -> None:
        for change, values in edits:
            change(documents, *values)

    settings = _SETTINGS[row["settings"]] if "settings" in row else None
    return Mistake(
        row["pitfall"],
        row["title"],
        edit=edit if edits else None,
        settings=settings,
        is_slow=row.get("is_slow", False),
        **row["shown"],
    )


MISTAKES = tuple(map(_mistake, table(__file__, "mistakes.yaml")))
QUICK = tuple(mistake for mistake in MISTAKES if not mistake.is_slow)
"""The mistakes of `make conformance`."""

NOT_DETECTED: dict[str, str] = table(__file__, "not_detected.yaml")
"""Pitfalls with a star that the rehearsal cannot show, with the reason."""
