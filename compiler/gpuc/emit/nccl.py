"""NCCL environment: a ConfigMap in each namespace that has an NCCL profile. Pods read it with `envFrom`."""

from __future__ import annotations

from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Manifest
from gpuc.model import Namespace, Profile, Tenant


def nccl_environment(tenant: Tenant, namespace: Namespace, profile: Profile, file: str) -> Manifest:
    """Returns the ConfigMap with the NCCL variables for EFA. Variables of the profile override the defaults.

    No variable sets a provider or a protocol, because the OFI plugin of NCCL detects EFA and selects its settings.

    Source: catalog, verdicts on NCCL settings
    """
    data = {"NCCL_DEBUG": profile.spec.debug, "NCCL_SOCKET_IFNAME": "eth0"}
    if any(pool.has_efa and not pool.hugepages_bytes for pool in tenant.pools):
        # Otherwise libfabric tries to use huge pages on nodes without huge pages.
        data["FI_EFA_USE_HUGE_PAGE"] = "0"
    data |= profile.spec.env
    name, body = profile.config_map, {"data": data}
    return Manifest(file, profile.path, "v1", "ConfigMap", name, body, namespace.name, annotations=wave(0))
