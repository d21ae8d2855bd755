"""GPU metrics of the DCGM exporter: its default metrics, and the metrics that the alerts need."""

from __future__ import annotations

from gpuc.model import Cluster

EXTRA = (
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    "DCGM_FI_PROF_DRAM_ACTIVE",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_EXP_XID_ERRORS_COUNT",
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    "DCGM_FI_DEV_ROW_REMAP_FAILURE",
)
"""Metrics in addition to the defaults: activity (also of MIG devices), memory, and GPU errors.

No alert uses memory, tensor and memory activity, and uncorrected errors, which are for dashboards.
"""


def metric_list(cluster: Cluster) -> str:
    """Returns the metric list of the exporter, with a line `name, type, help` for each metric.

    A custom list replaces the default list of the exporter, so the custom list contains the default metrics too.
    """
    metrics = cluster.catalog.dcgm_metrics
    names = sorted({name for name, metric in metrics.items() if metric.default} | set(EXTRA))
    return "".join(f"{name}, {metrics[name].type}, {metrics[name].help}\n" for name in names)
