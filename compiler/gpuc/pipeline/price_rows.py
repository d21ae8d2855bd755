"""Converts the output of `aws pricing get-products` into prices for specs/catalog/.

Source: AWS Price List Query API, GetProducts: PriceList is a list of JSON texts; AWS Cost and Usage Reports user guide,
product details: capacitystatus is Used, UnusedCapacityReservation or AllocatedCapacityReservation
"""

import json
import re
from typing import Any

from pydantic import ValidationError

from gpuc.diagnostics.finding import Finding, Mark, rule_table
from gpuc.objects.object_set import dig, pairs
from gpuc.spec.facts import PriceRow

rule_of = rule_table(__file__)
NO_PRICE = rule_of("CAT104")

_PURCHASES = {"Used": "on-demand", "UnusedCapacityReservation": "reserved"}
"""The purchase options by capacitystatus. Reserved capacity costs its price whether or not an instance uses it."""
_USD = re.compile(r"\d+(\.\d+)?", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def price_rows(products: list[Any], file: str, source: str) -> tuple[list[dict[str, Any]], int, list[Finding]]:
    """Returns the prices, the number of products that gpuc does not use, and the findings.

    gpuc does not use the products for Windows, dedicated hosts, Capacity Blocks (which are paid in advance) and
    Reserved Instances (which are a discount of the account).

    Args:
        products: the list PriceList.
        file: the name of the file for the findings.
        source: the text that says where the data comes from.
    """
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    others = 0
    findings = []
    for number, text in enumerate(products):
        product = _document(text)
        attributes = dig(product, "product", "attributes")
        purchase = _purchase(attributes)
        if purchase is None:
            others += 1
            continue
        row = {"instanceType": dig(attributes, "instanceType"), "region": dig(attributes, "regionCode")}
        row |= {"purchase": purchase, **_hourly(product), "source": source}
        try:
            PriceRow.model_validate(row)
        except ValidationError as error:
            name = str(row["instanceType"])[:40]
            keys = ", ".join(str(mistake["loc"][0]) for mistake in error.errors(include_url=False))
            message = f"PriceList[{number}] ({name}): {keys} is missing or not valid"
            findings.append(NO_PRICE.at((), message, mark=Mark(file, 1, 1)))
            continue
        key = (str(row["instanceType"]), str(row["region"]), purchase)
        if key not in rows or rows[key]["date"] < row["date"]:
            rows[key] = row
    return [rows[key] for key in sorted(rows)], others, findings


def _document(text: Any) -> Any:
    """Returns a product of PriceList, which is a JSON text; None if it is not JSON."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _purchase(attributes: Any) -> str | None:
    """Returns the purchase option of an offer for Linux on shared hardware; None for another offer.

    Source: karpenter-provider-aws v1.14.1 pkg/providers/pricing/pricing.go (fetchOnDemandPricing)
    """
    expected = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "marketoption": "OnDemand"}
    if any(dig(attributes, key) != value for key, value in expected.items()):
        return None
    return _PURCHASES.get(str(dig(attributes, "capacitystatus")))


def _hourly(product: Any) -> dict[str, Any]:
    """Returns the price of an hour and its day, with the keys of a row; keys without a valid value are missing."""
    for _, term in pairs(dig(product, "terms", "OnDemand")):
        for _, dimension in pairs(dig(term, "priceDimensions")):
            day = _DAY.match(str(dig(term, "effectiveDate")))
            usd = dig(dimension, "pricePerUnit", "USD")
            if dig(dimension, "unit") == "Hrs" and day and isinstance(usd, str) and _USD.fullmatch(usd):
                return {"hourlyUsd": float(usd), "date": day[0]}
    return {}
