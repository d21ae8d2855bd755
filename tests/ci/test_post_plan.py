"""The comment with the plan: the pull request, the artifact, the comment, and text without effects."""

import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuc.cli.init import COMMON, TEMPLATE
from tests.ci.fleet_changes import POISON
from tests.ci.github_api import BOT, GitHub, served
from tests.ci.markdown import effects

SCRIPT = TEMPLATE / COMMON / ".github/actions/gpuc/post_plan.py"
MODULE = runpy.run_path(str(SCRIPT))
harmless = MODULE["harmless"]
MARKER = MODULE["MARKER"]
PLAN = f"{MARKER}\n## Plan for dev-use1\n\n- node pool l4: up to 6 nodes\n"
HEAD = "c0ffee" + "0" * 34


@pytest.fixture
def github() -> Iterator[GitHub]:
    with served(GitHub()) as found:
        found.tokens["t"] = {"actions": "read", "contents": "read", "pull-requests": "write"}
        found.pulls.append(pull(7))
        yield found


def pull(number: int, **changes: Any) -> dict[str, Any]:
    head = {"sha": HEAD, "ref": "change", "user": "mallory", "repo": {"full_name": "mallory/fleet"}}
    base = {"ref": "main", "repo": {"full_name": "acme/fleet"}}
    return {"number": number, "state": "open", "head": {**head, **changes}, "base": base}


def run(github: GitHub, tmp_path: Path, **changes: Any) -> subprocess.CompletedProcess[str]:
    """Runs the script for a run with the number 5, and returns the finished process."""
    event = {
        "id": 5,
        "event": "pull_request",
        "conclusion": "success",
        "head_sha": HEAD,
        "head_branch": "change",
        "head_repository": {"full_name": "mallory/fleet", "owner": {"login": "mallory"}},
        "html_url": "https://github.com/acme/fleet/actions/runs/5",
        "pull_requests": [],
        **changes,
    }
    file = tmp_path / "event.json"
    file.write_text(json.dumps({"workflow_run": event}))
    environment = {
        "PATH": os.environ["PATH"],
        "GITHUB_EVENT_PATH": str(file),
        "GITHUB_REPOSITORY": "acme/fleet",
        "GITHUB_API_URL": github.url,
        "GITHUB_TOKEN": "t",
    }
    command = [sys.executable, "-I", str(SCRIPT)]
    return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)


def posted(github: GitHub, tmp_path: Path, **changes: Any) -> str:
    """The text of the only comment after a run of the script."""
    done = run(github, tmp_path, **changes)
    assert done.returncode == 0, done.stderr
    (comment,) = github.comments
    assert comment["user"]["login"] == BOT and comment["body"].startswith(f"{MARKER}\nCommit c0ffee000000, [run 5](")
    return str(comment["body"])


def test_the_plan_is_posted_below_a_warning(github: GitHub, tmp_path: Path) -> None:
    github.add_artifact(5, "gpuc-plan", {"plan.md": PLAN.encode()})
    body = posted(github, tmp_path)
    assert body.index("The pull request controls the following text") < body.index("## Plan for dev-use1")
    assert body.count(MARKER) == 1


def test_a_second_run_edits_only_the_comment_of_the_workflow(github: GitHub, tmp_path: Path) -> None:
    for number in range(120):  # the comment of the workflow is on the second page
        github.add_comment(7, "mallory", f"{MARKER}\n{number}")
    github.add_comment(7, BOT, "a comment of another workflow")
    mine = github.add_comment(7, BOT, f"{MARKER}\nold")
    github.add_artifact(5, "gpuc-plan", {"plan.md": PLAN.encode()})
    before = [comment["body"] for comment in github.comments if comment is not mine]
    assert "was edited" in run(github, tmp_path).stdout
    assert "Plan for dev-use1" in mine["body"]
    assert [comment["body"] for comment in github.comments if comment is not mine] == before
    assert "is up to date" in run(github, tmp_path).stdout


@pytest.mark.share(4)
@pytest.mark.parametrize(
    "others",
    [
        [],
        [pull(7, sha="0" * 40)],
        [pull(7, ref="other")],
        [pull(7, repo={"full_name": "mallory/fleet-2"})],
        [pull(7, repo=None)],
        [pull(7) | {"state": "closed"}],
        [pull(7) | {"base": {"ref": "main", "repo": {"full_name": "mallory/fleet"}}}],
        [pull(7), pull(8)],
    ],
)
def test_no_comment_without_exactly_one_pull_request_with_the_commit(
    others: list[dict[str, Any]], github: GitHub, tmp_path: Path
) -> None:
    github.pulls[:] = others
    github.add_artifact(5, "gpuc-plan", {"plan.md": PLAN.encode()})
    done = run(github, tmp_path)
    assert (done.returncode, github.comments) == (0, [])
    assert done.stdout.startswith("nothing")


def test_no_comment_after_the_fork_was_deleted(github: GitHub, tmp_path: Path) -> None:
    github.pulls[:] = [pull(7, repo=None)]
    done = run(github, tmp_path, head_repository=None)
    assert (done.returncode, github.comments) == (0, []), done.stderr
    assert done.stdout.startswith("nothing to post")


def test_the_event_decides_between_pull_requests_of_the_same_branch(github: GitHub, tmp_path: Path) -> None:
    github.pulls.append(pull(8))
    github.add_artifact(5, "gpuc-plan", {"plan.md": PLAN.encode()})
    assert "pull request 8" in run(github, tmp_path, pull_requests=[{"number": 8}, {"number": 9}]).stdout
    assert [comment["issue"] for comment in github.comments] == [8]


@pytest.mark.parametrize(
    "changes", [{"event": "push"}, {"event": "workflow_dispatch"}, {"conclusion": "cancelled"}, {"conclusion": None}]
)
def test_other_runs_are_ignored(changes: dict[str, Any], github: GitHub, tmp_path: Path) -> None:
    done = run(github, tmp_path, **changes)
    assert (done.returncode, github.requests) == (0, [])


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"plan.md": b"\xff\xfe"}, "plan.md is not UTF-8"),
        ({"other.md": b"x"}, "no ZIP archive with plan.md"),
        ({"../plan.md": b"x", "a/plan.md": b"x"}, "no ZIP archive with plan.md"),
        ({"plan.md": b"0" * (300 << 10)}, "plan.md is larger than 262144 bytes"),
        ({"plan.md": b"0" * (300 << 20)}, "plan.md is larger than 262144 bytes"),
        ({"plan.md": os.urandom(2 << 20)}, "the artifact is larger than 1048576 bytes"),
    ],
    ids=["encoding", "missing", "paths", "large", "bomb", "archive"],
)
def test_an_artifact_that_is_no_plan_is_described(
    files: dict[str, bytes], reason: str, github: GitHub, tmp_path: Path
) -> None:
    github.add_artifact(5, "gpuc-plan", files)
    assert reason in posted(github, tmp_path)


def test_an_artifact_is_never_larger_than_the_limit_whatever_the_api_states(github: GitHub, tmp_path: Path) -> None:
    github.add_archive(5, "gpuc-plan", os.urandom(2 << 20), size=10)
    assert "the artifact is larger than 1048576 bytes" in posted(github, tmp_path)


def test_bytes_that_are_no_archive(github: GitHub, tmp_path: Path) -> None:
    github.add_archive(5, "gpuc-plan", b"plan")
    assert "no ZIP archive" in posted(github, tmp_path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_each_damaged_archive_is_refused(method: int) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("plan.md", PLAN * 9)
    for position in range(len(file.getvalue())):
        for flipped in (0x01, 0x80, 0xFF):
            damaged = bytearray(file.getvalue())
            damaged[position] ^= flipped
            with contextlib.suppress(MODULE["Refused"]):
                assert MODULE["text_of"](bytes(damaged)) == PLAN * 9, "only bytes that do not matter are ignored"


def test_a_run_without_a_plan_replaces_the_plan(github: GitHub, tmp_path: Path) -> None:
    mine = github.add_comment(7, BOT, f"{MARKER}\nold")
    github.add_artifact(5, "gpuc-plan", {"plan.md": PLAN.encode()})
    github.artifacts[5][0]["expired"] = True
    assert "the run wrote no plan and ended with failure" in posted(github, tmp_path, conclusion="failure")
    assert mine is github.comments[0]


def test_the_newest_artifact_counts(github: GitHub, tmp_path: Path) -> None:
    github.add_artifact(5, "gpuc-plan", {"plan.md": b"old"})
    github.add_artifact(5, "gpuc-plan", {"plan.md": b"new"})
    github.artifacts[5].reverse()
    assert posted(github, tmp_path).endswith("\n\nnew")


def test_requests_that_only_read_are_sent_again(github: GitHub, tmp_path: Path) -> None:
    github.failures = 2
    github.add_artifact(5, "gpuc-plan", {"plan.md": PLAN.encode()})
    assert "Plan for dev-use1" in posted(github, tmp_path)


def test_a_token_without_permission_fails_the_job(github: GitHub, tmp_path: Path) -> None:
    github.tokens["t"] = {"actions": "read", "pull-requests": "read"}
    github.add_artifact(5, "gpuc-plan", {"plan.md": PLAN.encode()})
    done = run(github, tmp_path)
    assert (done.returncode, github.comments) == (1, [])


def test_a_branch_name_cannot_change_the_request(github: GitHub, tmp_path: Path) -> None:
    branch = "x&state=closed&head=acme:main#../?"
    github.pulls[:] = [pull(7, ref=branch)]
    github.add_artifact(5, "gpuc-plan", {"plan.md": PLAN.encode()})
    assert "Plan for dev-use1" in posted(github, tmp_path, head_branch=branch)


FRAGMENTS = (
    "@acme/admins", "@", "&#64;x", "&commat;x", "\\@x", "<img src=x>", "<", "<!--", "-->", "<details>", "</details>",
    "<code>", "&lt;", "&amp;", "![", "](", "]", "[", "(https://e.x)", "]: https://e.x", "#1", "#", "GH-1", "www.e.x",
    "https://e.x", "<https://e.x>", "```", "~~~", "mermaid", "`", "\n", "\n\n", "    ", "- ", "> ", "| a |\n|---|\n",
    "&#96;", "&#39;", "\\", "*", "_", "\u200b", "\u202e", "\r\n", "\x00", "a", " ", MARKER,
)  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12))
def test_no_text_has_an_effect(fragments: list[str]) -> None:
    text = harmless("".join(fragments))
    assert effects(text) == []
    assert harmless(text) == text


def test_the_check_of_effects_sees_each_of_them() -> None:
    assert len(effects("@a [x](https://e.x) ![x](y) <img> #1 www.e.x `@a`")) == 7
    assert effects("```mermaid\nx\n```") == ["drawing mermaid"]
    assert effects("&#64;acme &commat;acme \\@acme") == ["text @a"] * 3


def test_a_plan_of_gpuc_keeps_its_form_and_its_text() -> None:
    from gpuc.diagnostics.report.markdown import code, escaped, fenced

    rows = [f"- {escaped(POISON)}", code(POISON), fenced([POISON], "diff")]
    fold = "<details><summary><code>a &lt; &#96;b&#x27;</code></summary>\n\nx\n</details>"
    plan = "\n".join([MARKER, "## Plan", *rows, fold])
    text = harmless(plan)
    assert text.replace("\u200b", "") == plan.removeprefix(f"{MARKER}\n").replace("\u200b", "")
    assert fold in text and "```diff" in text
    assert effects(text) == []
