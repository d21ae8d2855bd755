"""Consistency of the tables of versions, NCCL, XIDs and metrics."""

from itertools import pairwise

import pytest

from gpuc.catalog import load
from gpuc.catalog.rows import read

CATALOG = load()


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_a_newer_kubernetes_never_needs_an_older_controller() -> None:
    found = sorted(CATALOG.kubernetes.values(), key=lambda row: number(row.version))
    for older, newer in pairwise(found):
        assert number(older.minimum["karpenter"]) < number(newer.minimum["karpenter"])
        assert all(number(version) <= number(newer.minimum[name]) for name, version in older.minimum.items())


def test_the_release_set_runs_on_the_newest_kubernetes_version() -> None:
    newest = max(CATALOG.kubernetes.values(), key=lambda row: number(row.version))
    release = CATALOG.releases["2026.08"]
    assert newest.minimum.keys() == {"karpenter", "gpu-operator"}
    for name, version in newest.minimum.items():
        assert number(release[name].version.removeprefix("v")) >= number(version)


def test_verdicts_are_about_known_variables() -> None:
    elsewhere = ("FI_", "RDMAV_", "OFI_NCCL_RDMA_", "OFI_NCCL_ENDPOINT_PER_COMM")
    undocumented = {"NCCL_NVLS_CHUNKSIZE", "NCCL_NVLSTREE_MAX_CHUNKSIZE", "NCCL_SHM_USE_CUDA_MEMCPY"}
    for row in CATALOG.nccl.verdicts:
        if row.prefix:
            assert any(name.startswith(row.name) for name in CATALOG.nccl.variables)
        elif not row.name.startswith(elsewhere):
            assert row.name in CATALOG.nccl.variables.keys() | undocumented


@pytest.mark.parametrize(
    ("name", "value", "verdicts"),
    [
        ("NCCL_PROTO", "Simple", ["harmful"]),
        ("NCCL_PROTO", "LL", []),
        ("NCCL_IB_DISABLE", "1", ["no effect", "no effect"]),
        ("NCCL_IB_HCA", "mlx5_0", ["no effect"]),
        ("NCCL_CROSS_NIC", "1", []),
        ("NCCL_DEBUG", "warn", ["recommended"]),
        ("NCCL_DEBUG", "INFO", ["situational"]),
    ],
)
def test_a_verdict_matches_name_value_and_prefix(name: str, value: str, verdicts: list[str]) -> None:
    assert [row.verdict for row in CATALOG.nccl.verdicts if row.matches(name, value)] == verdicts


def test_xids_of_applications_do_not_isolate_nodes() -> None:
    isolating = {row.xid for row in CATALOG.xids.values() if row.isolation == "isolate" and row.confidence != "low"}
    assert {48, 74, 79, 95, 119, 120, 140} <= isolating
    assert {13, 31, 43, 45} <= {row.xid for row in CATALOG.xids.values() if row.isolation == "never"}


def test_a_metric_is_one_line_of_a_comma_separated_list() -> None:
    for row in CATALOG.dcgm_metrics.values():
        assert row.help
        assert not {",", "\n", '"', "#"} & set(row.help)


def test_the_default_list_has_no_ecc_counter() -> None:
    defaults = {row.name for row in CATALOG.dcgm_metrics.values() if row.default}
    assert {"DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_FB_USED", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"} <= defaults
    assert not [name for name in defaults if "ECC" in name]


def test_the_names_of_metrics_are_those_of_the_exporter_in_each_release_set() -> None:
    """The exporter 4.9.0 renames 23 fields, and changes the unit of 11: a new GPU Operator needs a new table."""
    exporters = {"v26.7.0": "4.6.0-4.8.3"}
    sources = read("dcgm")["sources"]
    assert {key for row in CATALOG.dcgm_metrics.values() for key in row.source} == {"dcgm", "exporter"} == {*sources}
    for release in CATALOG.releases.values():
        exporter = exporters[release["gpu-operator"].version]
        assert f"release {exporter}" in sources["exporter"]
        assert f"v{exporter.partition('-')[0]} " in sources["dcgm"]


def test_hugepages_of_a_pod_fit_into_the_pages_of_images() -> None:
    for image in CATALOG.images.values():
        assert not image.efa_hugepages_2mi or CATALOG.nccl.pod.hugepages_mib <= image.efa_hugepages_2mi * 2
