"""NCCL environment: a ConfigMap per namespace that names a profile, for `envFrom` of its pods."""

from __future__ import annotations

from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Manifest
from gpuc.model import Namespace, Profile, Tenant


def nccl_environment(tenant: Tenant, namespace: Namespace, profile: Profile, file: str) -> Manifest:
    """Only what has an effect on the fabric; the profile's own variables win.

    NCCL's plugin finds EFA by itself and tunes per platform, so nothing names a provider or a protocol.

    Source: catalog, verdicts on NCCL settings
    """
    data = {"NCCL_DEBUG": profile.spec.debug, "NCCL_SOCKET_IFNAME": "eth0"}
    if any(pool.has_efa and not pool.hugepages_bytes for pool in tenant.pools):
        # Else libfabric tries huge pages on nodes that have none.
        data["FI_EFA_USE_HUGE_PAGE"] = "0"
    data |= profile.spec.env
    name, body = profile.config_map, {"data": data}
    return Manifest(file, profile.path, "v1", "ConfigMap", name, body, namespace.name, annotations=wave(0))
