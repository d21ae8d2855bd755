"""Cases of the alerts for policies that Gatekeeper does not enforce or does not audit."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.model import Cluster
from tests.alerts.case import Case, Fired
from tests.alerts.series import AUDIT, Controller

WEBHOOK = Controller("gatekeeper-controller-manager", "gatekeeper-system")
RESTARTED = Controller("gatekeeper-audit", "gatekeeper-system", 1)
START = "2026-11-23T00:00:00Z"
EPOCH = 1795392000
"""The start as a number of seconds."""
END = "gatekeeper_audit_last_run_end_time"


def cases(cluster: Cluster) -> Iterator[Case]:
    for metric in ("gatekeeper_constraint_templates", "gatekeeper_constraints"):
        yield Case(
            f"one of {metric} has an error",
            "GpucPolicyBroken",
            {WEBHOOK.series(metric, status="error"): "0x10 1x60", WEBHOOK.series(metric, status="active"): "20x70"},
            {"20m": [], "27m": [Fired()]},
        )
    yield Case(
        "all policies are active",
        "GpucPolicyBroken",
        {
            WEBHOOK.series(metric, status=status): f"{0 if status == 'error' else 20}x70"
            for metric in ("gatekeeper_constraint_templates", "gatekeeper_constraints")
            for status in ("active", "error")
        },
        {"60m": []},
    )
    yield Case(
        "C21: the audit hangs",
        "GpucAuditLate",
        {AUDIT.series(END): f"{EPOCH}x100"},
        {"30m": [], "44m": [], "47m": [Fired()]},
        start=START,
    )
    yield Case(
        "C21: the kernel ends the audit pod again and again before an audit ends",
        "GpucAuditLate",
        # Without an audit, the value is the time zero of Go, the year 1.
        {AUDIT.series(END): f"{EPOCH}x5 stale", RESTARTED.series(END): "_x6 -62135596800x100"},
        {"10m": [], "23m": [Fired()]},
        start=START,
    )
    yield Case(
        "C21: Prometheus has no metrics of the audit", "GpucAuditLate", {}, {"14m": [], "17m": [Fired()]}, start=START
    )
    yield Case(
        "C21: an audit ends every five minutes",
        "GpucAuditLate",
        {AUDIT.series(END): " ".join(f"{EPOCH + 300 * number}x4" for number in range(25))},
        {"30m": [], "110m": []},
        start=START,
    )
