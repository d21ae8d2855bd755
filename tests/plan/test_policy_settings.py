"""What the settings of policies refuse and allow, in words. The keys of committed objects have another order."""

from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Pair
from gpuc.plan.policy_changes import setting_changes

_HOSTS = {"namespace": "a", "list": "hosts", "names": ["a.example"], "suffixes": [".a.example"]}
_ALL = {"most": 8, "pool": "", "resource": "r"}
"""A maximum for pods of all pools."""


def _words(kind: str, before: dict[str, Any], after: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What the policy refuses in addition, and what it allows."""
    pair = Pair(*(Manifest("", (), "constraints.gatekeeper.sh/v1beta1", kind, "one", {"spec": {"parameters": settings}})
                  for settings in (before, after)))  # fmt: skip
    found = list(setting_changes(pair, {"a", "b"}))
    return [setting.words for setting in found if setting.refuses_more], [
        setting.words for setting in found if not setting.refuses_more
    ]


@pytest.mark.parametrize(
    ("kind", "before", "after", "refuses", "allows"),
    [
        ("GpucImages", {"registries": ["a/", "b/"]}, {"registries": ["b/", "c/"]},
         ["no longer allows registries a/"], ["allows registries c/"]),
        ("GpucExposure", {"granted": [_HOSTS]}, {"granted": [_HOSTS | {"suffixes": []}]},
         ["no longer allows granted a hosts: *.a.example"], []),
        ("GpucExposure", {"granted": []}, {"granted": [_HOSTS | {"namespace": "new"}]}, [], []),
        ("GpucGpuLimits", {"limits": [{"most": 8, "pool": "p", "resource": "r"}]},
         {"limits": [{"resource": "r", "pool": "p", "most": 4}]}, ["allows at most 4 r in pool p instead of 8"], []),
        ("GpucGpuLimits", {"limits": [{"most": 8, "pool": "p", "resource": "r"}]},
         {"limits": [{"resource": "r", "pool": "p", "most": 8}]}, [], []),
        ("GpucGpuLimits", {"limits": [{"most": 8, "pool": "", "resource": "r"}]}, {"limits": []},
         [], ["has no maximum of r any more"]),
        ("GpucGpuLimits", {"limits": [_ALL, {"most": 2, "pool": "p", "resource": "r"}]}, {"limits": [_ALL]},
         [], ["allows at most 8 r in pool p instead of 2"]),
        ("GpucGpuLimits", {"limits": [_ALL, {"most": 8, "pool": "p", "resource": "r"}]}, {"limits": [_ALL]}, [], []),
        ("GpucGpuQuota", {"graceSeconds": 600}, {"graceSeconds": 1800},
         [], ["allows at most 1800 graceSeconds instead of 600"]),
        ("GpucMpsClients", {"pools": []}, {"pools": [{"pool": "p", "user": 1}]},
         ["has a requirement for pools p"], []),
        ("GpucNetworkPolicyFence", {"egressBlocks": []}, {"egressBlocks": [{"cidr": "10.0.0.0/8", "except": []}]},
         [], []),
        ("FleetPolicy", {"owner": "a"}, {"owner": "b"}, ["setting owner is b instead of a"], []),
        ("FleetPolicy", {"rows": [{"a": 1}]}, {}, ["setting rows changes"], []),
    ],
)  # fmt: skip
def test_settings_refuse_and_allow(
    kind: str, before: dict[str, Any], after: dict[str, Any], refuses: list[str], allows: list[str]
) -> None:
    assert _words(kind, before, after) == (refuses, allows)
