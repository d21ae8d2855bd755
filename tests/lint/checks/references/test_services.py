"""The Services of the templates of the examples."""

import pytest

from gpuc.diagnostics.finding import Path
from tests.conftest import EXAMPLES
from tests.lint.checks.references.trees import example_objects, findings_of, replaced, with_value


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_service_of_the_templates_is_needed(name: str) -> None:
    # The other jobs are left out: they create Jobs whose names, which Services may select, are in no file.
    others = ("JobSet", "RayJob", "TrainJob")
    objects = [manifest for manifest in example_objects(name) if manifest.kind not in others]
    services = [manifest for manifest in objects if manifest.kind == "Service" and "job-name" in str(manifest.body)]
    assert services or name == "infer-euw1"
    for service in services:
        gone = findings_of(
            [manifest for manifest in objects if manifest is not service], is_complete=True, charts_of=name
        )
        assert [(finding.rule.id, finding.manifest.name) for finding in gone] == [("REF033", service.name)]
        path: Path = ("spec", "selector", "job-name")
        other = findings_of(
            replaced(objects, service, with_value(service, path, "missing")), is_complete=True, charts_of=name
        )
        assert [(finding.rule.id, finding.manifest.name, finding.path) for finding in other] == [
            ("REF032", service.name, path)
        ]
