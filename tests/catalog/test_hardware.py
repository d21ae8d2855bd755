"""The hardware tables are consistent with each other: GPUs, instance types, images, releases."""

import json
import re

import pytest

from gpuc.catalog import load
from gpuc.catalog.rows import typed
from tests.derive.prices import text

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


def test_families_without_gpus_have_figures() -> None:
    """m, c and r of the last generations, of Intel, AMD and AWS."""
    for family in (
        *("m6i", "m6a", "m6g", "m7i", "m7a", "m7g", "m8i", "m8a", "m8g"),
        *("c6i", "c6a", "c6g", "c7i", "c7a", "c7g", "c8i", "c8a", "c8g"),
        *("r6i", "r6a", "r6g", "r7i", "r7a", "r7g", "r8i", "r8a", "r8g"),
    ):
        row = CATALOG.instance_type(f"{family}.4xlarge")
        assert row is not None and (row.vcpu, row.gpu, row.efa) == (16, "", 0), family
        assert row.arch == ("arm64" if family.endswith("g") else "amd64")
        price = CATALOG.price(row.type, "us-east-1", "on-demand")
        assert price is not None and 0.3 < price.hourly_usd < 2, family
    assert CATALOG.instance_type("m8g.5xlarge") is None
    several_cards = CATALOG.instance_type("c8gn.48xlarge")
    assert several_cards is not None and (several_cards.network_cards, several_cards.efa) == (2, 2)


def test_prices_are_plausible() -> None:
    for row in typed("prices", "prices"):
        assert len(set(row.sizes)) == len(row.sizes) == len(row.hourly_usd), row.family
        assert all(0.003 < hourly < 500 for hourly in row.hourly_usd), row.family


def test_the_table_of_prices_is_written_again() -> None:
    """A table in the form of Karpenter's."""
    table = '// generated at 2026-07-20T13:44:30Z for us-east-1\n\t"m8g.large": 0.089760, "c8g.metal-24xl": 4.211330,\n'
    rows = json.loads(text(table))["prices"]
    assert [(row["family"], row["date"], row["sizes"], row["hourly_usd"]) for row in rows] == [
        ("c8g", "2026-07-20", ["metal-24xl"], [4.21133]),
        ("m8g", "2026-07-20", ["large"], [0.08976]),
    ]


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


def test_families_have_figures_of_every_size() -> None:
    for row in CATALOG.ec2_families.values():
        assert len(set(row.sizes)) == len(row.sizes), row.family
        fields = (row.vcpu, row.memory_mib, row.pods, row.mhz, row.ebs_mbps, row.network_mbps, row.nvme_gb, row.efa)
        for values in (*fields, row.pod_eni, row.gpu_count, row.gpu_memory_mib, row.accelerator_count):
            assert len(values) in (0, 1, len(row.sizes)), row.family
        assert row.vcpu and row.memory_mib and row.pods, row.family
        assert bool(row.gpu) == bool(row.gpu_manufacturer) == bool(row.gpu_memory_mib), row.family


def test_the_figures_of_families_are_those_of_instance_types() -> None:
    for row in CATALOG.instances.values():
        family, size = CATALOG.ec2_families.get(row.family), row.type.partition(".")[2]
        if family is None:
            assert size in CATALOG.unpublished_types[row.family].sizes
            continue
        other = family.instance(size)
        found = (other.vcpu, other.memory_mib, other.pods, other.arch, other.gpu_count, other.local_nvme_gb)
        assert found == (row.vcpu, row.memory_mib, row.pods, row.arch, row.gpu_count, row.local_nvme_gb), row.type
        if row.gpu:
            assert (other.efa, family.gpu) == (row.efa, CATALOG.gpus[row.gpu].karpenter_name), row.type


def test_a_type_has_no_figures_or_is_in_a_family() -> None:
    for row in CATALOG.unpublished_types.values():
        family = CATALOG.ec2_families.get(row.family)
        assert family is None or not set(family.sizes) & set(row.sizes), row.family
