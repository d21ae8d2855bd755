"""`gpuc catalog`: lists, searches and shows entries, in a fleet and outside of a fleet."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuc.catalog import load
from gpuc.cli.catalog_details import blocks, details
from gpuc.cli.catalog_entries import SUBJECTS, entries
from gpuc.cli.main import main
from gpuc.diagnostics.report.printer import printed
from gpuc.model.layout import place
from tests.conftest import HUB
from tests.lanes import SHARE, some

H100 = """\
profile     slices  max  0   1   2   3   4   5   6   7
1g.10gb          1    7  [==][==][==][==][==][==][==]
1g.10gb+me       1    1  [==][==][==][==][==][==][==]
1g.20gb          2    4  [======][======][======][======]
2g.20gb          2    3  [======][======][======]
3g.40gb          4    2  [==============][==============]
4g.40gb          4    1  [==============]
7g.80gb          8    1  [==============================]
"""


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["catalog", *arguments]) == 0
    return capsys.readouterr().out


def data(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(output(capsys, *arguments, "--format", "json"))


def test_the_list_has_all_subjects_and_families(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys).splitlines()
    subjects = {line.partition(":")[0] for line in lines if not line.startswith(" ")}
    assert subjects == {*SUBJECTS} - {"instance-types", "prices"}
    assert any(line.startswith("  m8g ") and "arm64  medium large" in line for line in lines)
    assert any(line.startswith("  trn2 ") and "trainium2 (not supported)" in line for line in lines)
    assert not any(line.startswith("*") for line in lines)


def test_a_search_finds_types_gpus_and_profiles(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "h100")["entries"]
    names = {(row["subject"], row["name"]) for row in found}
    assert {("gpus", "h100-sxm5-80gb"), ("mig", "h100-80gb"), ("instance-types", "p5.48xlarge")} <= names
    sizes = [row["name"] for row in data(capsys, "instance-types", "m8g.")["entries"]]
    assert sizes[:4] == ["m8g.medium", "m8g.large", "m8g.xlarge", "m8g.2xlarge"]


def test_an_instance_type_has_figures_prices_and_sources(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = data(capsys, "show", "m8g.4xlarge")
    assert (found["arch"], found["vcpu"], found["memory_mib"], found["pods"]) == ("arm64", 16, 65536, 234)
    (price,) = found["prices"]
    assert (price["region"], price["purchase"], price["hourly_usd"]) == ("us-east-1", "on-demand", 0.71808)
    assert found["source"] == ["aws/karpenter-provider-aws v1.14.1 website/content/en/docs/reference/instance-types.md"]


def test_the_placements_of_a_gpu_are_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "show", "H100-80GB").endswith(H100)
    assert output(capsys, "show", "h100-sxm5-80gb").endswith(H100)
    assert "does not support MIG" in output(capsys, "show", "t4")


@pytest.mark.parametrize("arguments", [["show", "H100-81GB"], ["notthere"], ["show", "m8g.5xlarge"]])
def test_an_unknown_name_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", *arguments]) == 2
    assert "the catalog has no entry" in capsys.readouterr().err


def test_show_requires_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "show"]) == 2
    assert "gpuc catalog show requires a name" in capsys.readouterr().err


def test_every_entry_can_be_shown() -> None:
    catalog = load()
    for entry in some(list(entries(catalog)), SHARE):
        assert printed(blocks(catalog, entry)).startswith(entry.name)
        json.dumps(details(catalog, entry))


@pytest.mark.slow
def test_pictures_show_every_start_and_the_maximum() -> None:
    catalog = load()
    for entry in (entry for entry in entries(catalog) if entry.subject == "mig" and entry.row.placement_units):
        shown = details(catalog, entry)["mig_profiles"]
        assert printed(blocks(catalog, entry)).count("[") == sum(len(profile["starts"]) for profile in shown)
        for profile in (profile for profile in shown if "+me" not in profile["profile"]):
            assert place({profile["profile"]: profile["max"]}, entry.row) is not None
            assert place({profile["profile"]: profile["max"] + 1}, entry.row) is None


def test_rows_of_the_fleet_are_marked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HUB)
    lines = output(capsys).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("*")] == [
        "c9g", "runtime-security", "m8g.4xlarge", "p5.48xlarge",
    ]  # fmt: skip
    (own,) = data(capsys, "show", "c9g.4xlarge")
    assert (own["own"], own["source"]) == (True, ["example: the figures of c8g.4xlarge"])
    prices = next(row for row in data(capsys, "show", "p5.48xlarge") if row["subject"] == "instance-types")["prices"]
    assert [(price["region"], price["purchase"]) for price in prices] == [
        ("eu-central-1", "reserved"),
        ("us-east-1", "on-demand"),
    ]
