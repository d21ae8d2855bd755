"""The checks of the Pod Security levels baseline and restricted, by version of Kubernetes.

Source: k8s.io/pod-security-admission v0.35.4 policy/check_*.go and policy/registry.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from gpuc.admission import pod_security_baseline as baseline
from gpuc.admission import pod_security_restricted as restricted
from gpuc.admission.documents import PodPart
from gpuc.admission.pod_security_baseline import Violation

NEWEST: Final = 35
"""The minor version of Kubernetes whose checks this module has."""


class Check(NamedTuple):
    """A check, and the minor versions of Kubernetes in which the check exists."""

    run: Callable[[PodPart], Iterator[Violation]]
    is_baseline: bool
    """Whether the check belongs to level baseline. Level restricted has the check too, if no other one overrides it."""
    first: int = 0
    last: int = NEWEST
    overridden_from: int = NEWEST + 1
    """The first minor version in which a check of level restricted overrides the check in level restricted."""


def checks(level: str, minor: int) -> Iterator[Check]:
    """Yields the checks of a level in the order of the API server.

    Args:
        level: baseline or restricted.
        minor: the minor version of Kubernetes whose checks apply; a newer version has the checks of the newest one.
    """
    minor = min(minor, NEWEST)
    for check in _CHECKS:
        if not check.first <= minor <= check.last:
            continue
        is_overridden = minor >= check.overridden_from
        if (check.is_baseline and level == "baseline") or (level == "restricted" and not is_overridden):
            yield check


_CHECKS = (
    Check(baseline.app_armor, True),
    Check(baseline.capabilities_baseline, True, overridden_from=22),
    Check(baseline.host_namespaces, True),
    Check(baseline.host_paths, True, overridden_from=0),
    Check(baseline.host_ports, True),
    Check(baseline.probe_hosts, True, first=34),
    Check(baseline.privileged, True),
    Check(baseline.proc_mount, True, last=34),
    Check(baseline.proc_mount_outside_user_namespace, True, first=35, overridden_from=35),
    Check(baseline.se_linux_1_0, True, last=30),
    Check(baseline.se_linux_1_31, True, first=31),
    Check(baseline.seccomp_annotations, True, last=18),
    Check(baseline.seccomp_baseline, True, first=19, overridden_from=19),
    Check(baseline.sysctls(0), True, last=26),
    Check(baseline.sysctls(27), True, first=27, last=28),
    Check(baseline.sysctls(29), True, first=29, last=31),
    Check(baseline.sysctls(32), True, first=32),
    Check(baseline.host_process, True),
    Check(restricted.privilege_escalation, False, first=8, last=24),
    Check(restricted.privilege_escalation_not_windows, False, first=25),
    Check(restricted.capabilities_restricted, False, first=22, last=24),
    Check(restricted.capabilities_restricted_not_windows, False, first=25),
    Check(baseline.proc_mount, False, first=35),
    Check(restricted.volume_types, False),
    Check(restricted.non_root, False, last=34),
    Check(restricted.non_root_outside_user_namespace, False, first=35),
    Check(restricted.user_zero, False, first=23, last=34),
    Check(restricted.user_zero_outside_user_namespace, False, first=35),
    Check(restricted.seccomp_restricted, False, first=19, last=24),
    Check(restricted.seccomp_restricted_not_windows, False, first=25),
)  # fmt: skip
"""All checks: first those of level baseline, then those of level restricted, each sorted by their id."""
