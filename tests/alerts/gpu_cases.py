"""Cases of the alerts for broken, lost and idle GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.components.gpu_operator.alerts import IDLE_MINUTES
from gpuc.model import Cluster, GpuPool
from tests.alerts.case import Case, Fired
from tests.alerts.series import Gpu, Holder, pool_node

TRAINER = Holder("team-a", "trainer-0")
TEMPERATURE, ACTIVE = "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"


def cases(cluster: Cluster) -> Iterator[Case]:
    yield from _xids()
    yield from _lost_gpus()
    remapped = Gpu("n1", 3)
    yield Case(
        "a GPU cannot remap a row, another GPU can",
        "GpucRowRemapFailure",
        {
            remapped.series("DCGM_FI_DEV_ROW_REMAP_FAILURE", TRAINER): "0x4 1x10",
            Gpu("n1", 4).series("DCGM_FI_DEV_ROW_REMAP_FAILURE"): "0x20",
        },
        {"4m": [], "5m": [Fired(remapped.labels())]},
    )
    yield Case(
        "no GPU failed to remap a row",
        "GpucRowRemapFailure",
        {Gpu("n1", number).series("DCGM_FI_DEV_ROW_REMAP_FAILURE"): "0x20" for number in range(8)},
        {"15m": []},
    )
    yield from _telemetry(cluster)
    yield from _idle(cluster)


def _xids() -> Iterator[Case]:
    gpu, other = Gpu("n1", 0), Gpu("n1", 1)
    lost = Fired({**gpu.labels(), "xid": "79"}, {"action": "replace-node", "severity": "critical"})
    memory = Fired({**gpu.labels(), "xid": "48"}, {"action": "reset-gpu", "severity": "critical"})
    none = gpu.series("DCGM_EXP_XID_ERRORS_COUNT", TRAINER, window_size_in_ms="300000")
    yield Case(
        "XID 79 is followed by XID 45 before the next scrape",
        "GpucXid",
        {
            # The gauge of the last XID has a series for each code, and never shows XID 79.
            gpu.last_xid(45, TRAINER): "_x8 45x400",
            none: "0x7 stale",
            gpu.xid(79, TRAINER): "_x8 1x20 stale",
            gpu.xid(45, TRAINER): "_x8 8x20 stale",
        },
        # The count disappears after 5 minutes, the query covers 10 minutes, and the alert stays for an hour.
        {"1m": [], "3m": [lost], "20m": [lost], "70m": [lost], "90m": []},
        interval="15s",
    )
    yield Case(
        "two XIDs on one GPU",
        "GpucXid",
        {gpu.xid(48, TRAINER): "_x8 1x20 stale", gpu.xid(79, TRAINER): "_x12 1x20 stale", other.xid(13): "1x40 stale"},
        {"6m": [memory, lost], "30m": [memory, lost]},
        interval="15s",
    )
    yield Case(
        "XIDs of applications, and details of other XIDs",
        "GpucXid",
        {gpu.xid(code, TRAINER): "1x40" for code in (13, 31, 43, 45, 63, 69, 154, 171)},
        {"8m": []},
        interval="15s",
    )
    yield Case("no XIDs", "GpucXid", {none: "0x40"}, {"8m": []}, interval="15s")
    yield Case(
        "an XID of low confidence, and a contained memory error",
        "GpucXid",
        {gpu.xid(167, TRAINER): "_x8 1x20 stale", other.xid(94, TRAINER): "_x8 2x20 stale"},
        {
            "6m": [
                Fired({**gpu.labels(), "xid": "167"}, {"action": "replace-node", "severity": "warning"}),
                Fired({**other.labels(), "xid": "94"}, {"action": "restart-pod", "severity": "warning"}),
            ]
        },
        interval="15s",
    )
    yield Case(
        "the pods of a shared GPU each have a copy of the series",
        "GpucXid",
        {gpu.xid(79, Holder("team-a", f"pod-{number}", vgpu=str(number))): "_x8 1x20 stale" for number in range(4)},
        {"6m": [lost]},
        interval="15s",
    )


def _lost_gpus() -> Iterator[Case]:
    gpus = [Gpu("n1", number) for number in range(8)]
    others = {gpu.series(TEMPERATURE): "45x120" for gpu in gpus[1:]}
    yield Case(
        "a lost GPU: one of eight GPUs sends no metrics any more",
        "GpucGpuLost",
        {gpus[0].series(TEMPERATURE, TRAINER): "60x9 stale", **others},
        {"9m": [], "12m": [], "16m": [Fired(gpus[0].labels())], "60m": [Fired(gpus[0].labels())], "75m": []},
    )
    yield Case(
        "a GPU that another pod uses is not lost",
        "GpucGpuLost",
        {gpus[0].series(TEMPERATURE, TRAINER): "60x9 stale", gpus[0].series(TEMPERATURE): "_x10 30x60", **others},
        {"30m": []},
    )
    yield Case(
        "a node that was deleted has no lost GPUs",
        "GpucGpuLost",
        {gpu.series(TEMPERATURE): "45x9 stale" for gpu in gpus},
        {"30m": []},
    )


def _telemetry(cluster: Cluster) -> Iterator[Case]:
    minutes = max(pool.boot_minutes for pool in cluster.gpu_pools) + 5
    pools = cluster.gpu_pools
    nodes = {pool_node(f"n-{pool.name}", pool.name): "1x200" for pool in pools}
    missing = [Fired({"hostname": f"n-{pool.name}", "pool": pool.name}) for pool in pools]
    yield Case(
        "an exporter that is gone, on a node of each pool",
        "GpucTelemetryMissing",
        nodes,
        {f"{minutes - 1}m": [], f"{minutes + 1}m": missing},
    )
    yield Case(
        "an exporter that answers without GPU metrics",
        "GpucTelemetryMissing",
        {
            **nodes,
            **{Gpu(f"n-{pool.name}").series(TEMPERATURE): "45x20 stale" for pool in pools},
            **{Gpu(f"n-{pool.name}").series("up"): "1x200" for pool in pools},
        },
        {"20m": [], f"{minutes + 23}m": missing},
    )
    general = {pool_node("n-general", pool.name): "1x200" for pool in cluster.pools if not pool.is_gpu}
    yield Case(
        "all exporters send metrics, and nodes without GPUs have no exporter",
        "GpucTelemetryMissing",
        {**nodes, **general, **{Gpu(f"n-{pool.name}").series(TEMPERATURE): "45x200" for pool in pools}},
        {f"{minutes + 30}m": []},
    )


def _idle(cluster: Cluster) -> Iterator[Case]:
    for purpose, minutes in IDLE_MINUTES.items():
        pool = next((pool for pool in cluster.gpu_pools if pool.spec.purpose == purpose), None)
        if pool:
            yield from _idle_of(pool, purpose, minutes)
    shared = {pool.sharing.kind: pool for pool in cluster.gpu_pools if pool.sharing.mode == "shared"}
    for pool in shared.values():
        yield from _shared(pool)


def _idle_of(pool: GpuPool, purpose: str, minutes: int) -> Iterator[Case]:
    node = {pool_node("n1", pool.name): f"1x{minutes + 30}"}
    gpu, other = Gpu("n1", 0), Gpu("n1", 1)
    hanging = Fired(
        {"hostname": "n1", "gpu": "0", "namespace": TRAINER.namespace, "pod": TRAINER.pod}, {"purpose": purpose}
    )
    yield Case(
        f"a pod does not use its GPU, a pod uses another GPU, and no pod has a third GPU ({purpose})",
        "GpucIdleGpu",
        {
            **node,
            gpu.series(ACTIVE, TRAINER): f"0.01x{minutes + 30}",
            other.series(ACTIVE, Holder("team-b", "busy-0")): f"0.8x{minutes + 30}",
            Gpu("n1", 2).series(ACTIVE): f"0x{minutes + 30}",
        },
        {f"{minutes - 1}m": [], f"{minutes + 2}m": [hanging]},
    )
    yield Case(
        f"a pod that pauses for a checkpoint uses its GPU ({purpose})",
        "GpucIdleGpu",
        {**node, gpu.series(ACTIVE, TRAINER): f"0.9x{minutes - 20} 0x10 0.9x40"},
        {f"{minutes + 5}m": [], f"{minutes + 20}m": []},
    )


def _shared(pool: GpuPool) -> Iterator[Case]:
    """Yields cases for nvidia.com/gpu.shared: the exporter writes a series for each pod of the GPU."""
    minutes = IDLE_MINUTES[pool.spec.purpose]
    node, gpu = {pool_node("n1", pool.name, pool.instances[0].type): f"1x{minutes + 30}"}, Gpu("n1", 0)
    pods = [Holder("team-a", f"notebook-{number}", vgpu=str(number)) for number in range(3)]
    expected = [
        Fired(
            {"hostname": "n1", "gpu": "0", "namespace": "team-a", "pod": pod.pod}, {"purpose": str(pool.spec.purpose)}
        )
        for pod in pods
    ]
    yield Case(
        f"shared GPUs ({pool.sharing.kind}): no pod uses the GPU",
        "GpucIdleGpu",
        {**node, **{gpu.series(ACTIVE, pod): f"0x{minutes + 30}" for pod in pods}},
        {f"{minutes + 2}m": expected},
    )
    yield Case(
        f"shared GPUs ({pool.sharing.kind}): one of the pods uses the GPU, and the series of all pods show this",
        "GpucIdleGpu",
        {**node, **{gpu.series(ACTIVE, pod): f"0.4x{minutes + 30}" for pod in pods}},
        {f"{minutes + 2}m": []},
    )
