"""The schema of the Helm values of one chart needs only this chart."""

from pathlib import Path

import pytest

from gpuc.catalog.schemas import VALUES
from gpuc.emit.component import components
from gpuc.parts.folders import component_folder
from tests.derive.__main__ import charts_at_hand, derived_charts
from tests.derive.charts import chart_table

NAMES = [component.name for component in components()]


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_schema_is_that_of_the_chart(name: str, shared: Path) -> None:
    file = component_folder(name) / VALUES
    if name not in charts_at_hand(shared / "upstream/charts"):
        pytest.skip(f"{shared}/upstream/charts does not have the chart")
    assert derived_charts(shared / "upstream/charts", [name]) == {file: file.read_text(encoding="utf-8")}


def test_fields_of_pods_have_their_types_without_any_definition(tmp_path: Path) -> None:
    values = tmp_path / "jobset" / "0.12.0" / "values.yaml"
    values.parent.mkdir(parents=True)
    values.write_text("controller: {replicas: 1, tolerations: [], labels: {}}\n", encoding="utf-8")
    fields = chart_table("without-exceptions", "jobset", tmp_path)["properties"]["controller"]["properties"]
    assert fields["replicas"] == {"type": "integer"}
    assert "operator" in fields["tolerations"]["items"]["properties"]
    assert fields["labels"] == {"type": "object", "additionalProperties": {"type": "string"}}


def test_a_component_without_a_row_or_without_a_chart_is_named(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="for component nothing"):
        derived_charts(tmp_path, ["nothing"])
    with pytest.raises(LookupError, match=r"/kueue/<version>/values.yaml for component kueue"):
        derived_charts(tmp_path, ["kueue"])
