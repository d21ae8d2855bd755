"""The comments about pull requests on the example fleet are the committed ones, and show every impact."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpuc.plan.impact import IMPACTS
from gpuc.plan.report.json_report import json_schema
from tests.plan.example_pull_requests import PullRequest, comment_of, pull_requests

REQUESTS = pull_requests()


@pytest.mark.share(15)
@pytest.mark.parametrize("request_", REQUESTS, ids=[request.name for request in REQUESTS])
def test_the_comment_is_the_committed_one(request_: PullRequest, tmp_path: Path) -> None:
    markdown, report = comment_of(request_, tmp_path)
    document = json.loads(report)
    Draft202012Validator(json_schema()).validate(document)
    assert all(impact["file"] and impact["line"] for impact in document["impacts"])
    assert markdown == request_.comment.read_text(encoding="utf-8"), "run python -m tests.plan.example_pull_requests"
    assert len(markdown.encode()) < 65_536


def test_every_impact_is_in_a_comment() -> None:
    shown = {name for request in REQUESTS for name in re.findall(r"IMP\d{3}", request.comment.read_text("utf-8"))}
    assert {check.rule.id for check in IMPACTS.discover()} - shown == set()
    assert len(REQUESTS) >= 20
