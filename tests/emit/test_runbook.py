"""The runbook has a section for each alert, with words for people and commands of this cluster."""

import re

import pytest

from gpuc.emit.alerts import alerts
from gpuc.emit.runbook import runbook
from gpuc.manifest.manifest import Text
from tests.conftest import EXAMPLES, Variant, example


def sections(name: str) -> dict[str, str]:
    (page,) = runbook(example(name))
    assert isinstance(page, Text)
    assert page.file == f"clusters/{name}/RUNBOOK.md"
    _, *parts = re.split(r"^## ", page.text, flags=re.MULTILINE)
    return {part.partition("\n")[0]: part for part in parts}


@pytest.mark.parametrize("name", [*EXAMPLES, "custom-euc1", "lab-dc1", "vega-prod"])
def test_each_alert_has_a_section_with_its_texts(name: str) -> None:
    found = sections(name)
    assert list(found) == sorted({alert.name for alert in alerts(example(name))})
    for section in found.values():
        assert all(f"**{part}.**" in section for part in ("Meaning", "Look", "Do"))
        assert "$labels" not in section and "{{" not in section and "@" not in section


def test_commands_have_the_names_of_the_cluster() -> None:
    found = sections("prod-use1")
    assert "kubectl get pods -n gpu-operator -l app=nvidia-dcgm-exporter" in found["GpucTelemetryMissing"]
    assert "gpuc-prod-use1-gpu-operator" in found["GpucTelemetryMissing"]
    assert "[Replace a broken node](README.md#replace-a-broken-node)" in found["GpucGpuLost"]


def test_an_alert_that_ends_work_says_when_to_stop() -> None:
    found = sections("prod-use1")
    for name in ("GpucXid", "GpucGpuLost", "GpucUnhealthyNode", "GpucPoolBroken", "GpucIdleGpu"):
        assert "**Stop.**" in found[name]
    assert "**Stop.**" not in found["GpucAuditLate"]


def test_a_cluster_without_alerts_has_no_runbook(variant: Variant) -> None:
    assert list(runbook(variant(lambda spec: spec.pop("observability")))) == []
