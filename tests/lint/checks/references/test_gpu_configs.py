"""Labels of the node pools of an example that select a configuration of the GPU operator, and its overlays."""

import pytest

from gpuc.objects.object_set import ObjectSet
from tests.conftest import compiled_example
from tests.lint.checks.references.trees import replaced, with_value
from tests.lint.checks.topics import references as findings

LABELS = ("spec", "template", "metadata", "labels")


@pytest.mark.parametrize("label", ["nvidia.com/device-plugin.config", "nvidia.com/mig.config"])
def test_a_wrong_label_in_an_example_is_reported_at_its_path(label: str) -> None:
    spec = compiled_example("infer-euw1")
    pool = next(manifest for manifest in spec.objects if manifest.kind == "NodePool" and manifest.name == "models-a100")
    path = (*LABELS, label)
    broken = replaced(spec.objects, pool, with_value(pool, path, "other"))
    found = list(findings(ObjectSet(broken, is_complete=True, values=spec.charts)))
    assert [(finding.rule.id, finding.manifest.name, finding.path) for finding in found] == [
        ("REF026", "models-a100", path)
    ]
    assert list(findings(ObjectSet(spec.objects, is_complete=True, values=spec.charts))) == []


@pytest.mark.parametrize(
    ("kind", "name", "path", "value"),
    [
        ("NodeOverlay", "models-a100-p4d-24xlarge", ("spec", "capacity", "nvidia.com/mig-1g.5gb"), "17"),
        ("NodeOverlay", "embed-l4-g6-12xlarge", ("spec", "capacity", "nvidia.com/gpu.shared"), "24000000"),
        ("NodePool", "notebooks-l4", (*LABELS, "nvidia.com/device-plugin.config"), "mps-6"),
    ],
)
def test_a_wrong_amount_or_configuration_in_an_example_is_reported(
    kind: str, name: str, path: tuple[str, ...], value: str
) -> None:
    spec = compiled_example("infer-euw1")
    old = next(found for found in spec.objects if (found.kind, found.name) == (kind, name))
    broken = replaced(spec.objects, old, with_value(old, path, value))
    found = findings(ObjectSet(broken, is_complete=True, values=spec.charts))
    overlays = [finding.manifest for finding in found if finding.rule.id == "REF054"]
    assert overlays
    assert all(found.kind == "NodeOverlay" and found.name.startswith(name) for found in overlays)
