"""The list of GPU metrics that the DCGM exporter collects: its own list and what the alerts need."""

from __future__ import annotations

from gpuc.model import Cluster

EXTRA = (
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    "DCGM_FI_PROF_DRAM_ACTIVE",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_DEV_XID_ERRORS",
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    "DCGM_FI_DEV_ROW_REMAP_FAILURE",
)
"""Fields beside the exporter's own: activity that MIG devices have too, memory, and what breaks GPUs."""


def metric_list(cluster: Cluster) -> str:
    """Lines of name, type and help; a custom list replaces the exporter's, so it repeats that."""
    metrics = cluster.catalog.dcgm_metrics
    names = sorted({name for name, metric in metrics.items() if metric.default} | set(EXTRA))
    return "".join(f"{name}, {metrics[name].type}, {metrics[name].help}\n" for name in names)
