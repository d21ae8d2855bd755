"""Cases of the alerts for broken, lost and idle GPUs."""

from collections.abc import Iterator

from gpuc.components.gpu_operator.alerts import IDLE_MINUTES
from gpuc.model import Cluster, GpuPool
from tests.alerts.case import Case, table_cases
from tests.alerts.series import Gpu, Holder, pool_node


def cases(cluster: Cluster) -> Iterator[Case]:
    yield from table_cases("gpus")
    yield from _telemetry(cluster)
    yield from _drivers(cluster.gpu_pools[0])
    if any(pool.has_nvswitch for pool in cluster.gpu_pools):
        yield from table_cases("nvswitch")
    training = next((pool for pool in cluster.gpu_pools if pool.spec.purpose == "training"), None)
    if training:
        yield from table_cases("training", pool=training.name)
    tenant, namespace = next(iter(cluster.namespaces))
    for purpose, minutes in IDLE_MINUTES.items():
        pool = next((pool for pool in cluster.gpu_pools if pool.spec.purpose == purpose), None)
        times = {"all": 30, "early": -1, "late": 2, "busy": -20, "paused": 5, "later": 20}
        if pool:
            names = {name: minutes + more for name, more in times.items()}
            owner = {"tenant": tenant.name, "namespace": namespace.name}
            yield from table_cases("an idle GPU of a purpose", purpose=purpose, pool=pool.name, **owner, **names)
    shared = {pool.sharing.kind: pool for pool in cluster.gpu_pools if pool.sharing.mode == "shared"}
    for pool in shared.values():
        yield from _shared(pool)


def _telemetry(cluster: Cluster) -> Iterator[Case]:
    minutes = max(pool.boot_minutes for pool in cluster.gpu_pools) + 5
    pools = cluster.gpu_pools
    nodes = {pool_node(f"n-{pool.name}", pool.name): "1x200" for pool in pools}
    missing = [{"hostname": f"n-{pool.name}", "pool": pool.name} for pool in pools]
    temperatures = [Gpu(f"n-{pool.name}").series("DCGM_FI_DEV_GPU_TEMP") for pool in pools]
    up = {Gpu(f"n-{pool.name}").series("up"): "1x200" for pool in pools}
    general = {pool_node("n-general", pool.name): "1x200" for pool in cluster.pools if not pool.is_gpu}
    for name, series, expected in (
        ("an exporter that is gone, on a node of each pool", {}, {f"{minutes - 1}m": [], f"{minutes + 1}m": missing}),
        (
            "an exporter that answers without GPU metrics",
            {**dict.fromkeys(temperatures, "45x20 stale"), **up},
            {"20m": [], f"{minutes + 23}m": missing},
        ),
        (
            "all exporters send metrics, and nodes without GPUs have no exporter",
            {**general, **dict.fromkeys(temperatures, "45x200")},
            {f"{minutes + 30}m": []},
        ),
    ):
        yield Case(name, "GpucTelemetryMissing", {**nodes, **series}, expected)


def _drivers(pool: GpuPool) -> Iterator[Case]:
    nodes = {pool_node(name, pool.name): "1x1500" for name in ("n1", "n2")}
    for title, driver, expected in (
        ("a rollout that did not finish", "570.1", {"1400m": [], "1445m": [{"pool": pool.name}]}),
        ("nodes with the same driver", "580.126.20", {"1445m": []}),
    ):
        other = Gpu("n2").series("DCGM_FI_DEV_GPU_TEMP", DCGM_FI_DRIVER_VERSION=driver)
        series = {Gpu("n1").series("DCGM_FI_DEV_GPU_TEMP"): "45x1500", other: "45x1500"}
        yield Case(title, "GpucMixedDrivers", {**nodes, **series}, expected)


def _shared(pool: GpuPool) -> Iterator[Case]:
    """Yields cases for nvidia.com/gpu.shared: the exporter writes a series for each pod of the GPU."""
    minutes = IDLE_MINUTES[pool.spec.purpose]
    node, gpu = {pool_node("n1", pool.name, pool.instances[0].type): f"1x{minutes + 30}"}, Gpu("n1", 0)
    pods = [Holder("team-a", f"notebook-{number}", vgpu=str(number)) for number in range(3)]
    labels = {"hostname": "n1", "gpu": "0", "namespace": "team-a", "pool": pool.name, "purpose": str(pool.spec.purpose)}
    for name, active, expected in (
        ("no pod uses the GPU", "0", [{**labels, "pod": pod.pod} for pod in pods]),
        ("one of the pods uses the GPU, and the series of all pods show this", "0.4", []),
    ):
        series = {gpu.series("DCGM_FI_PROF_GR_ENGINE_ACTIVE", pod): f"{active}x{minutes + 30}" for pod in pods}
        title = f"shared GPUs ({pool.sharing.kind}): {name}"
        yield Case(title, "GpucIdleGpu", {**node, **series}, {f"{minutes + 2}m": expected})
