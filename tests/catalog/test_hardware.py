"""The hardware tables are consistent with each other: GPUs, instance types, images, releases."""

from __future__ import annotations

import re

import pytest

from gpuc.catalog import load

CATALOG = load()


def test_every_instance_with_a_gpu_names_one_of_the_catalog() -> None:
    gpus = {row.type: row.gpu for row in CATALOG.instances.values() if row.gpu}
    unknown = {name: gpu for name, gpu in gpus.items() if gpu not in CATALOG.gpus}
    assert not unknown, f'"gpu" of these types is not an id of gpus.json: {unknown}'
    unnamed = {name: gpu for name, gpu in gpus.items() if not CATALOG.gpus[gpu].karpenter_name}
    assert not unnamed, f"the GPU of these types has no karpenter_name in gpus.json: {unnamed}"
    unused = {name for name, gpu in CATALOG.gpus.items() if gpu.karpenter_name} - set(gpus.values())
    assert not unused, f"these GPUs of gpus.json have a karpenter_name, but no instance type has the GPU: {unused}"


def test_an_instance_has_a_gpu_or_none_of_its_figures() -> None:
    for row in CATALOG.instances.values():
        assert row.gpu_count in range(9), row
        assert row.gpu or not row.gpu_count, row
        if row.gpu and not row.gpu_count:
            assert row.family in ("g6f", "gr6f"), row


def test_family_is_the_front_of_the_type() -> None:
    wrong = {row.type: row.family for row in CATALOG.instances.values() if row.type.split(".")[0] != row.family}
    assert not wrong


def test_figures_of_instances_are_plausible() -> None:
    for row in CATALOG.instances.values():
        assert 2 <= row.vcpu <= 192, row
        assert 2 * 1024 <= row.memory_mib / row.vcpu <= 24 * 1024, row
        assert 20 <= row.pods < 2000, row
        assert row.local_nvme_gb <= 32_000, row
        assert row.hourly_usd is None or 0.1 < row.hourly_usd < 200, row


def test_efa_fits_the_network_cards() -> None:
    for row in CATALOG.instances.values():
        assert 0 <= row.efa <= row.network_cards, row
    b300 = CATALOG.instances["p6-b300.48xlarge"]
    assert (b300.network_cards, b300.efa) == (17, 16)


def test_an_unsupported_type_is_not_also_offered() -> None:
    both = CATALOG.instances.keys() & CATALOG.unsupported_instances.keys()
    assert not both, f'these types are in "instances" and in "unsupported" of instances.json: {sorted(both)}'


def test_new_drivers_have_left_volta_behind() -> None:
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


def test_families_that_images_name_exist() -> None:
    families = {row.family for row in CATALOG.instances.values()}
    for image in CATALOG.images.values():
        assert {*image.unsupported_families} <= families


def test_what_a_release_set_points_at_is_in_it() -> None:
    brings = {row.component for row in CATALOG.daemonsets}
    for components in CATALOG.releases.values():
        assert {row.crds_from for row in components.values() if row.crds_from} <= components.keys()
        assert brings - {"eks"} <= components.keys()
        for row in components.values():
            assert row.kubernetes_max in ("", *CATALOG.kubernetes)
