"""Every mistake in a manifest is a finding at its line: the cases of bad_manifests.yaml."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.extra.fleet import checked, places, write_fleet, write_manifest

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "bad_manifests.yaml").read_text())
MARK = re.compile(r"#! ([\w ]+)$")


@pytest.mark.share(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_findings_are_at_their_lines(case: dict[str, Any], tmp_path: Path) -> None:
    write_fleet(tmp_path)
    write_manifest(tmp_path, case["file"], case["text"])
    found = checked(tmp_path)
    if "ids" in case:
        assert [finding.id for finding in found] == case["ids"], found
        return
    lines = enumerate(case["text"].splitlines(), 1)
    marked = [(number, mark[1].split()) for number, line in lines if (mark := MARK.search(line))]
    assert places(found) == sorted(f"{id_} {case['file']}:{number}" for number, ids in marked for id_ in ids), found
