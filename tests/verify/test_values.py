"""The checks of Helm values."""

from typing import Any

import pytest

from gpuc.catalog import load
from gpuc.manifest.manifest import Values
from tests.tables import table
from tests.verify.findings import verify_values

RELEASES = dict.fromkeys(["efa", "gatekeeper", "gpu-operator", "karpenter", "karpenter-crd", "kueue"], "1.0.0")
CASES = table(__file__, "values.yaml")


def found(component: str, body: dict[str, Any]) -> list[str]:
    """The rules and messages of the findings about the values of a chart."""
    values = Values(f"out/a/{component}/values.yaml", ("spec", "releases"), component, body)
    return [
        f"{item.id} {item.message.partition(f'values of {component}: ')[2]}"
        for item in verify_values([values], RELEASES)
    ]


@pytest.mark.parametrize(("component", "body"), [(key, row) for key, rows in CASES["accepted"].items() for row in rows])
def test_values_that_the_charts_read_are_accepted(component: str, body: dict[str, Any]) -> None:
    assert found(component, body) == []


@pytest.mark.parametrize(("component", "row"), [(key, row) for key, rows in CASES["refused"].items() for row in rows])
def test_values_that_the_charts_do_not_read_are_refused(component: str, row: dict[str, Any]) -> None:
    (finding,) = found(component, row["values"])
    assert finding.startswith(row["finds"])


def test_values_that_render_to_a_null_are_known_for_the_pinned_charts() -> None:
    catalog = load()
    for component, rows in catalog.null_fields.items():
        for row in rows:
            assert row.version == catalog.releases["2026.08"][component].version, row


def test_values_of_a_chart_that_is_no_release_are_refused() -> None:
    (finding,) = verify_values([Values("out/x/efa/values.yaml", (), "efa", {})], {"kueue": ""})
    message = 'values of efa: chart "efa" is not among the releases of the cluster: kueue'
    assert finding.message == f"out/x/efa/values.yaml: {message}"
