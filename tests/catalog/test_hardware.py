"""Consistency of the hardware tables: GPUs, instance types, images, releases."""

from __future__ import annotations

import re

import pytest

from gpuc.catalog import load

CATALOG = load()


def test_every_gpu_of_an_instance_is_in_the_catalog() -> None:
    found = {row.gpu for row in CATALOG.instances.values() if row.gpu}
    assert found <= CATALOG.gpus.keys()
    assert all(CATALOG.gpus[gpu].karpenter_name for gpu in found)
    assert {key for key, gpu in CATALOG.gpus.items() if gpu.karpenter_name} == found


def test_only_instances_with_a_gpu_have_a_gpu_count() -> None:
    for row in CATALOG.instances.values():
        assert row.gpu_count in range(9)
        assert row.gpu or not row.gpu_count
        if row.gpu and not row.gpu_count:
            assert row.family in ("g6f", "gr6f")


def test_the_type_begins_with_the_family() -> None:
    assert all(row.type.split(".")[0] == row.family for row in CATALOG.instances.values())


def test_sizes_of_instances_are_plausible() -> None:
    for row in CATALOG.instances.values():
        assert 2 <= row.vcpu <= 192
        assert 2 * 1024 <= row.memory_mib / row.vcpu <= 24 * 1024
        assert 20 <= row.pods < 2000
        assert row.local_nvme_gb <= 32_000
        assert row.hourly_usd is None or 0.1 < row.hourly_usd < 200


def test_efa_fits_the_network_cards() -> None:
    for row in CATALOG.instances.values():
        assert 0 <= row.efa <= row.network_cards
    b300 = CATALOG.instances["p6-b300.48xlarge"]
    assert (b300.network_cards, b300.efa) == (17, 16)


def test_an_unsupported_type_is_not_also_supported() -> None:
    assert not CATALOG.instances.keys() & CATALOG.unsupported_instances.keys()


def test_new_drivers_do_not_support_volta() -> None:
    for gpu in CATALOG.gpus.values():
        assert (gpu.max_driver_branch is not None) == (gpu.architecture == "volta")


@pytest.mark.parametrize(("gpu", "clients"), [("v100-sxm2-32gb", 16), ("t4", 48), ("l40s", 48), ("b200", 48)])
def test_mps_clients_depend_on_the_compute_capability(gpu: str, clients: int) -> None:
    assert CATALOG.gpus[gpu].mps_clients_max == clients


def test_image_aliases_are_pinned() -> None:
    assert re.fullmatch(CATALOG.images["al2023"].alias_pattern, "al2023@v20260815")
    assert re.fullmatch(CATALOG.images["bottlerocket"].alias_pattern, "bottlerocket@v1.26.0")
    for image in CATALOG.images.values():
        assert not re.fullmatch(image.alias_pattern, f"{image.id}@latest")
        assert bool(image.alias_pattern) == (image.driver == "image")


def test_unsupported_families_of_images_exist() -> None:
    families = {row.family for row in CATALOG.instances.values()}
    for image in CATALOG.images.values():
        assert {*image.unsupported_families} <= families


def test_references_of_a_release_set_are_in_the_set() -> None:
    owners = {row.component for row in CATALOG.daemonsets}
    for components in CATALOG.releases.values():
        assert {row.crds_from for row in components.values() if row.crds_from} <= components.keys()
        assert owners - {"eks"} <= components.keys()
        for row in components.values():
            assert row.kubernetes_max in ("", *CATALOG.kubernetes)
