"""The values of recorded series, for series as the exporters write them."""

from pathlib import Path

import pytest
import yaml

from gpuc.components.gpu_operator.records import parts_of_gpu
from tests.alerts import promtool
from tests.alerts.case import promtool_file, rules
from tests.alerts.series import KUEUE, KUEUE_FOLLOWER, Gpu, Holder, allocatable, pool_node, text
from tests.conftest import EXAMPLES, example

NODES = {"n1": "train-h100", "n2": "serve-a100", "n3": "dev-l4"}
TRAIN = Holder("research-train", "trainer-0")
SERVE = Holder("search-serving", "server-0")
NOTEBOOKS = [Holder("research-lab", f"notebook-{number}", vgpu=str(number)) for number in range(2)]
SLICE = {"GPU_I_ID": "3", "GPU_I_PROFILE": "3g.40gb"}
QUEUE = {"kueue_x_k8s_io_queue_name": "research"}


def held(holder: Holder, node: str, resource: str, count: int) -> dict[str, str]:
    """Returns the requests and phases of a pod from kube-state-metrics, whose monitor honors the labels of the pod."""
    pod = {"namespace": holder.namespace, "pod": holder.pod, "uid": f"uid-{holder.pod}"}
    request = {**pod, "container": "main", "node": node, "resource": resource, "unit": "integer"}
    phases = {text("kube_pod_status_phase", {**pod, "phase": phase}): value for phase, value in
              (("Running", "1x9"), ("Succeeded", "0x9"))}  # fmt: skip
    return {text("kube_pod_container_resource_requests", request): f"{count}x9", **phases}


def quota(queue: str, nominal: int, used: int) -> dict[str, str]:
    """Returns the quota of a queue on train-h100; the follower shows old numbers."""
    labels = {"cohort": "company", "cluster_queue": queue, "flavor": "train-h100", "resource": "nvidia.com/gpu"}
    found = {}
    for controller, reserved in ((KUEUE, used), (KUEUE_FOLLOWER, 99)):
        found[controller.series("kueue_cluster_queue_nominal_quota", **labels)] = f"{nominal}x9"
        found[controller.series("kueue_cluster_queue_resource_reservation", **labels)] = f"{reserved}x9"
        info = {"cluster_queue": queue, "parent_cohort": "company", "root_cohort": "company"}
        found[controller.series("kueue_cluster_queue_info", **info)] = "1x9"
    return found


def gpu_series() -> dict[str, str]:
    """Returns a whole GPU of a trainer, a slice of a server, a shared GPU of two notebooks, and an unused GPU."""
    found = {}
    for gpu, holders, labels, active in (
        (Gpu("n1"), [TRAIN], QUEUE, 0.5),
        (Gpu("n2"), [SERVE], SLICE, 0.8),
        (Gpu("n3"), NOTEBOOKS, {}, 0.4),
        (Gpu("n1", 1), [None], {}, 0),
    ):
        for holder in holders:
            for metric in ("GR_ENGINE_ACTIVE", "SM_ACTIVE"):
                found[gpu.series(f"DCGM_FI_PROF_{metric}", holder, **labels)] = f"{active}x9"
            for metric, value in (("USED", 3000 if holder else 0), ("FREE", 1000)):
                found[gpu.series(f"DCGM_FI_DEV_FB_{metric}", holder, **labels)] = f"{value}x9"
    return found


SERIES = {
    **{pool_node(node, pool): "1x9" for node, pool in NODES.items()},
    **gpu_series(),
    **held(TRAIN, "n1", "nvidia_com_gpu", 8),
    **held(SERVE, "n2", "nvidia_com_mig_3g_40gb", 2),
    **held(NOTEBOOKS[0], "n3", "nvidia_com_gpu_shared", 1),
    **held(NOTEBOOKS[1], "n3", "nvidia_com_gpu_shared", 1),
    allocatable("n1", "nvidia_com_gpu"): "8x9",
    **{allocatable("n2", f"nvidia_com_mig_{name}"): f"{8 * count}x9"
       for name, count in (("3g_40gb", 1), ("2g_20gb", 1), ("1g_10gb", 2))},
    allocatable("n3", "nvidia_com_gpu_shared"): "16x9",
    **quota("research", 64, 80),
    **quota("search", 64, 32),
    f'train_tokens_per_second{{namespace="{TRAIN.namespace}",pod="{TRAIN.pod}",container="main"}}': "98900x9",
    f'train_model_flops_per_token{{namespace="{TRAIN.namespace}",pod="{TRAIN.pod}",container="main"}}': "4e10x9",
}  # fmt: skip
VALUES = {
    'gpuc:tenant_held:gpus{tenant="research",pool="train-h100"}': 8,
    'gpuc:tenant_held:gpus{tenant="research",pool="dev-l4"}': 0.5,
    'gpuc:tenant_held:gpus{tenant="search",pool="serve-a100"}': 1,
    'gpuc:pool_offered:gpus{pool="train-h100"}': 8,
    'gpuc:pool_offered:gpus{pool="serve-a100"}': 8,
    'gpuc:pool_offered:gpus{pool="dev-l4"}': 4,
    'gpuc:tenant_busy:gpus{tenant="research",pool="train-h100"}': 0.5,
    'gpuc:tenant_busy:gpus{tenant="research",pool="dev-l4"}': 0.2,
    'gpuc:tenant_sm_active:gpus{tenant="search"}': 0.4,
    "gpuc:queue_busy:gpus": 0.5,
    'gpuc:pool_engine_active:ratio{pool="train-h100"}': 0.25,
    'gpuc:pool_memory_used:ratio{pool="dev-l4"}': 0.75,
    'gpuc:tenant_memory_used:bytes{pool="dev-l4"}': 3000 * 2**20,
    "gpuc:queue_memory_used:bytes": 3000 * 2**20,
    'gpuc:queue_borrowed:gpus{cluster_queue="research"}': 16,
    'gpuc:queue_lent:gpus{cluster_queue="research"}': 0,
    'gpuc:queue_lent:gpus{cluster_queue="search"}': 16,
    'gpuc:namespace_mfu:ratio{namespace="research-train"}': 0.5,
}
"""The only value of each expression."""


@pytest.mark.slow
def test_the_values_of_recorded_series(tmp_path: Path) -> None:
    program = promtool.find_promtool()
    if program is None:
        pytest.skip(promtool.MISSING)
    records = tmp_path / "records.yaml"
    records.write_text(yaml.safe_dump({"groups": [{"name": "records", "rules": rules("prod-use1")["records"]}]}))
    expressions = [
        {"expr": f"sum({query})", "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": value}]}
        for query, value in VALUES.items()
    ]
    test = {"interval": "1m", "promql_expr_test": expressions}
    test["input_series"] = [{"series": series, "values": values} for series, values in SERIES.items()]
    file = tmp_path / "records.test.yaml"
    file.write_text(yaml.safe_dump({**promtool_file([records.name], [test]), "fuzzy_compare": True}, width=200))
    assert promtool.run((str(program), "test", "rules", str(file))) == ""


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_complete_layout_is_one_gpu(name: str) -> None:
    for pool in example(name).gpu_pools:
        parts = {resource: part for resource, _, part in parts_of_gpu(pool)}
        node = pool.sharing.gpu_resources(pool.gpus_per_node)
        assert sum(parts[resource] * count for resource, count in node.items()) == pool.gpus_per_node
