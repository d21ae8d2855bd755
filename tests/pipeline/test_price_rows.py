"""`gpuc catalog import`: prices from the output of the Price List API."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuc.cli.main import main
from gpuc.diagnostics.finding import Finding
from gpuc.pipeline.fact_files import read_fact_file
from gpuc.pipeline.price_rows import price_rows


def product(usd: str = "98.3200000000", day: str = "2026-07-01", **changed: str) -> dict[str, Any]:
    """A product of the Price List API, with the keys that matter and some others."""
    attributes = {
        "instanceType": "p5.48xlarge",
        "regionCode": "us-west-2",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "licenseModel": "No License required",
        **changed,
    }
    rate = {"unit": "Hrs", "pricePerUnit": {"USD": usd}, "beginRange": "0"}
    term = {"effectiveDate": f"{day}T00:00:00Z", "priceDimensions": {"SKU.JRTC.6YS6": rate}, "termAttributes": {}}
    return {"product": {"attributes": attributes, "sku": "SKU"}, "terms": {"OnDemand": {"SKU.JRTC": term}}}


def imported(*products: dict[str, Any]) -> tuple[list[tuple[str, str, str, float, str]], int, int]:
    """The rows of products as short tuples, and the numbers of other offers and of findings."""
    rows, others, findings = price_rows([json.dumps(product) for product in products], "prices.json", "a test")
    keys = ("instanceType", "region", "purchase", "hourlyUsd", "date")
    return [tuple(row[key] for key in keys) for row in rows], others, len(findings)  # type: ignore[misc]


def test_used_capacity_is_on_demand_and_unused_reservations_are_reserved() -> None:
    found, others, findings = imported(
        product(),
        product(capacitystatus="UnusedCapacityReservation"),
        product("0.0", capacitystatus="AllocatedCapacityReservation"),
    )
    assert found == [
        ("p5.48xlarge", "us-west-2", "on-demand", 98.32, "2026-07-01"),
        ("p5.48xlarge", "us-west-2", "reserved", 98.32, "2026-07-01"),
    ]
    assert (others, findings) == (1, 0)


@pytest.mark.parametrize(
    ("key", "value"), [("operatingSystem", "Windows"), ("tenancy", "Host"), ("preInstalledSw", "SQL Std")]
)
def test_other_offers_have_no_row(key: str, value: str) -> None:
    assert imported(product(**{key: value})) == ([], 1, 0)


@pytest.mark.parametrize("usd", ["0.0000000000", "31.4640000000"])
def test_a_capacity_block_is_not_on_demand(usd: str) -> None:
    found, others, findings = imported(product("55.04"), product(usd, "2026-08-01", marketoption="CapacityBlock"))
    assert [row[3] for row in found] == [55.04]
    assert (others, findings) == (1, 0)


def test_the_latest_price_counts() -> None:
    found, _, _ = imported(product("1.0", "2026-06-01"), product("2.0", "2026-07-01"), product("3.0", "2026-05-01"))
    assert [row[3] for row in found] == [2.0]


@pytest.mark.parametrize(
    "wrong",
    [
        *(product(usd) for usd in ("0.0", "-1", "1.2.3", ".", "")),
        product(regionCode="mars"),
        product(instanceType="; rm -rf"),
        {},
    ],
)
def test_a_price_that_is_not_valid_is_a_finding_and_not_a_row(wrong: dict[str, Any]) -> None:
    found, others, findings = imported(wrong)
    assert found == []
    assert others + findings == 1


def test_the_printed_file_is_a_file_of_the_catalog(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prices.json").write_text(json.dumps({"FormatVersion": "aws_v1", "PriceList": [json.dumps(product())]}))
    assert main(["catalog", "import", str(tmp_path / "prices.json")]) == 0
    text = capsys.readouterr().out
    assert "aws pricing get-products" in text
    findings: list[Finding] = []
    read = read_fact_file(text, "specs/catalog/prices.yaml", findings)
    assert findings == []
    assert read is not None
    assert [row.hourly_usd for row in read.content.prices] == [98.32]
