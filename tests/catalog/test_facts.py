"""Every value of the catalog equals the value in the reference data from which the catalog was built."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.catalog import load

SHARED = os.environ.get("GPUC_SHARED", "")
CATALOG = load()

pytestmark = pytest.mark.skipif(not SHARED, reason="GPUC_SHARED is not set: the facts are not at hand")


@cache
def facts(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((Path(SHARED) / "facts" / f"{name}.yaml").read_text())
    return found


def test_instances_with_gpus() -> None:
    carried = {
        row.type: (
            row.family, row.arch, row.gpu, row.gpu_count, row.vcpu, row.memory_mib, row.local_nvme_gb,
            row.network_cards, row.efa, row.pods, hourly_usd(row.type),
        )
        for row in CATALOG.instances.values()
        if row.gpu
    }  # fmt: skip
    assert carried.items() >= {
        row["type"]: (
            row["family"], row["arch"], row["gpu"]["id"], row["gpu"]["count"], row["vcpu"], row["memory_mib"],
            row.get("local_nvme_gb", 0), row["network_cards"], row["efa"]["max_interfaces"],
            row["karpenter_max_pods"], row.get("usd_per_hour_us_east_1"),
        )
        for row in facts("aws_instances")["instances"]
    }.items()  # fmt: skip


def hourly_usd(name: str) -> float | None:
    price = CATALOG.price(name, "us-east-1", "on-demand")
    return price.hourly_usd if price is not None else None


def test_instances_without_gpus() -> None:
    for expected in facts("aws_cpu_instances")["instances"]:
        row = CATALOG.instance_type(expected["type"])
        assert row is not None
        found = (row.arch, row.vcpu, row.memory_mib, row.pods, hourly_usd(row.type))
        assert found == tuple(expected[key] for key in ("arch", "vcpu", "memory_mib", "pods", "hourly_usd"))


def test_instances_that_cannot_be_used() -> None:
    outside = {row["type"] for row in facts("aws_instances")["instances_outside_describe_table"]}
    assert outside <= CATALOG.unsupported_instances.keys() | CATALOG.instances.keys()


def test_gpus() -> None:
    carried = {
        gpu.id: (
            gpu.name, gpu.architecture, gpu.memory_mib, gpu.compute_capability, gpu.min_driver_branch, gpu.confidence,
        )
        for gpu in CATALOG.gpus.values()
    }  # fmt: skip
    assert carried.items() >= {
        row["id"]: (
            row["name"], row["gfd_family"], row.get("gfd_memory_mib"), row["compute_capability"],
            row["min_driver"]["branch"], row["confidence"],
        )
        for row in facts("gpus")["gpus"]
    }.items()  # fmt: skip


def test_names_that_karpenter_gives_to_gpus() -> None:
    for row in facts("aws_instances")["instances"]:
        assert CATALOG.gpus[row["gpu"]["id"]].karpenter_name == row["gpu"]["karpenter_name"]


def test_mig_placements() -> None:
    carried = {
        (found.id, row.profile): (row.memory_slices, list(row.starts), row.size, row.smi_id)
        for found in CATALOG.profile_sets.values()
        for row in found.profiles.values()
    }
    assert carried.items() >= {
        (found["id"], row["profile"]): (
            row["memory_slices"], row.get("placement", {}).get("start", []), row.get("placement", {}).get("size", 0),
            row.get("nvidia_smi_profile_id"),
        )
        for found in facts("mig")["profile_sets"]
        for row in found["profiles"]
    }.items()  # fmt: skip


def test_boards_of_mig_profile_sets() -> None:
    carried = {row.id: ({*row.gpus}, row.placement_units) for row in CATALOG.profile_sets.values()}
    for row in facts("mig")["profile_sets"]:
        gpus, units = carried[row["id"]]
        assert {*row["gpus"]} <= gpus, row["id"]
        assert units == row.get("placement_units", 0), row["id"]


def test_types_that_the_device_plugin_serves_have_efa() -> None:
    (file,) = (Path(SHARED) / "upstream" / "charts" / "aws-efa-k8s-device-plugin").glob("*/values.yaml")
    served = set(yaml.safe_load(file.read_text())["supportedInstanceLabels"]["values"])
    assert [row.type for row in CATALOG.instances.values() if row.gpu and row.type in served and not row.efa] == []


def test_requests_of_chart_daemonsets() -> None:
    charts = Path(SHARED) / "upstream" / "charts"
    (efa,) = (charts / "aws-efa-k8s-device-plugin").glob("*/values.yaml")
    (nfd,) = (charts / "gpu-operator").glob("*/charts/node-feature-discovery/values.yaml")
    asked = {
        "aws-efa-k8s-device-plugin": yaml.safe_load(efa.read_text())["resources"]["requests"],
        "node-feature-discovery-worker": yaml.safe_load(nfd.read_text())["worker"]["resources"]["requests"],
    }
    for row in CATALOG.daemonsets:
        if row.name in asked:
            assert asked[row.name] == {"cpu": f"{row.cpu_milli}m", "memory": f"{row.memory_mib}Mi"}


def test_nccl_variables() -> None:
    known = {row["name"] for table in ("nccl_env", "plugin_parameters") for row in facts("efa_nccl")[table]}
    assert known <= CATALOG.nccl.variables.keys()


def test_verdicts_on_settings() -> None:
    carried = {(row.name, row.verdict) for row in CATALOG.nccl.verdicts}
    wanted = {
        (name.split("=")[0].split(" ")[0].rstrip("*"), row["verdict"])
        for row in facts("efa_nccl")["environment_verdicts"]
        for name in row["name"].split(", ")
    }
    # The facts recommend NCCL_DEBUG with WARN in their words; the rows say it by value.
    assert wanted | {("NCCL_DEBUG", "situational")} <= carried


def test_xids() -> None:
    sure = {row["xid"] for row in facts("xid_dcgm")["isolate"] if row.get("confidence") != "low"}
    carried = [row for row in CATALOG.xids.values() if row.isolation == "isolate" and row.confidence != "low"]
    assert sure <= {row.xid for row in carried}
    never = {row["xid"] for row in facts("xid_dcgm")["never_isolate"]}
    assert never <= {row.xid for row in CATALOG.xids.values() if row.isolation == "never"}


def test_dcgm_metrics() -> None:
    carried = {row.name: (row.type, row.default) for row in CATALOG.dcgm_metrics.values()}
    known = {row["name"]: (row["type"], row["default"]) for row in facts("xid_dcgm")["dcgm_metrics"]}
    # The facts are of exporter 4.5.3-4.8.2, which calls these metrics counters; 4.6.0-4.8.3 calls them gauges.
    counts = {name for name in known if name.startswith("DCGM_EXP_")} | {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"}
    assert {carried[name][0] for name in counts} == {"gauge"}
    assert {name: row for name, row in known.items() if name not in counts}.items() <= carried.items()


def test_groups_of_charts() -> None:
    groups = CATALOG.chart_groups
    assert {"mutations.gatekeeper.sh", "templates.gatekeeper.sh"} <= {*groups["gatekeeper"]}
    assert groups["karpenter-crd"] == groups["karpenter"] == ("karpenter.k8s.aws", "karpenter.sh")


def test_charts() -> None:
    carried = {
        row.component: (row.repo, row.chart, row.version, row.namespace) for row in CATALOG.releases["2026.08"].values()
    }
    assert (
        carried.items()
        >= {
            row["component"]: (row["repo"], row["chart"], row["version"], row["namespace"])
            for row in facts("charts")["charts"]
        }.items()
    )


def test_versions_that_go_together() -> None:
    compat = facts("compat")
    release = CATALOG.releases["2026.08"]
    karpenter = next(row for row in compat["karpenter_kubernetes"] if row["karpenter"] == "1.14.x")
    assert release["karpenter"].kubernetes_min == karpenter["kubernetes_min"]
    assert release["karpenter"].kubernetes_max == karpenter["kubernetes_max"]
    operator = next(row for row in compat["gpu_operator_releases"] if row["version"] == "26.7.0")
    assert release["gpu-operator"].default_driver == operator["default_driver"]
    known = {row["kubernetes"]: row["karpenter_min"] for row in compat["kubernetes_min_karpenter"]}
    assert known.items() <= {row.version: row.minimum["karpenter"] for row in CATALOG.kubernetes.values()}.items()
