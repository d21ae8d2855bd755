"""The workflows of a new fleet, step by step, against a bare repository with a clone for each job."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuc_rehearsal.tools.selection import REHEARSAL
from tests.ci.fleet_changes import POISON, SPEC, Project, compile_fleet, more_nodes, new_fleet, project
from tests.ci.hosting import git
from tests.ci.markdown import effects
from tests.ci.runner import Job, require_programs, results, without_programs
from tests.conftest import edit

pytestmark = pytest.mark.slow
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research, labels: {kueue.x-k8s.io/queue-name: research}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: train, image: "example.com/train:1", resources: {limits: {nvidia.com/gpu: 4}}}]
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    new_fleet(folder, "gpuc==0.1.0")
    return folder


@pytest.fixture
def acme(tmp_path: Path, fleet: Path) -> Iterator[Project]:
    with project(tmp_path, fleet) as found:
        yield found
    assert list(tmp_path.rglob("pwned*")) == [], "a text was run as a command"


def annotations(job: Job) -> list[str]:
    return [line for name, line in job.commands if name in ("error", "warning", "notice")]


def test_a_pull_request_of_a_branch(acme: Project) -> None:
    def change(clone: Path) -> None:
        more_nodes(clone)
        (clone / "manifests").mkdir()
        (clone / "manifests/train.yaml").write_text(JOB)

    pull = acme.change(change)
    jobs = acme.review(pull, without_programs)
    review = jobs["review"]
    assert results(jobs) == dict.fromkeys(("review", "programs", "rehearse dev-use1"), "success")
    assert "1 manifests changed" in review.step("Lint changed manifests").log
    assert json.loads(review.outputs["changed"]) == [{"name": "dev-use1", "file": SPEC, "change": "changed"}]
    reports = {file.name for file in acme.machine.artifacts["gpuc-reports"].iterdir()}
    assert reports == {"gpuc.sarif", "plan.json", "plan.md"}
    plan = (acme.machine.artifacts["gpuc-plan"] / "plan.md").read_text()
    assert review.summary == plan and "dev-use1" in plan
    assert "up to 6 nodes" in plan or "6" in plan

    assert "was created" in acme.comment(pull, jobs).step("Post the plan").log
    (body,) = acme.bodies()
    assert plan.removeprefix("<!-- gpuc plan -->\n").splitlines()[0] in body.replace("\u200b", "")
    assert effects(body) == []
    pull = acme.change(lambda clone: (git(clone, "merge", "--quiet", "origin/change"), (clone / "x.md").touch())[0])
    assert "was edited" in acme.comment(pull, acme.review(pull, without_programs)).step("Post the plan").log
    assert len(acme.bodies()) == 1 and pull.head[:12] in acme.bodies()[0]


def test_a_run_of_an_older_commit_posts_nothing(acme: Project) -> None:
    old = acme.change(more_nodes)
    jobs = acme.review(old, without_programs)
    acme.change(lambda clone: (git(clone, "merge", "--quiet", "origin/change"), (clone / "x.md").touch())[0])
    assert "nothing to post" in acme.comment(old, jobs).step("Post the plan").log
    assert acme.bodies() == []


def test_changes_of_main_after_the_start_of_the_branch_do_not_count(acme: Project) -> None:
    acme.change(more_nodes)
    main = acme.hosting.clone()
    (main / "wrong.yaml").write_text(JOB.replace("name: train,", "name: A B,"))
    acme.hosting.push(main, "main")
    pull = acme.hosting.pull_request(1, "acme", "change")
    review = acme.review(pull, without_programs)["review"]
    assert (review.result, "no manifest" in review.step("Lint changed manifests").log) == ("success", True)


def test_a_pull_request_of_a_fork(acme: Project) -> None:
    acme.github.add_comment(1, "mallory", "<!-- gpuc plan -->\nnot of the workflow")
    pull = acme.change(more_nodes, owner="mallory", branch="main")
    jobs = acme.review(pull, without_programs)
    assert jobs["review"].result == "success"
    assert all(set(granted.values()) <= {"read"} for granted in acme.machine.tokens.values())
    assert "was created" in acme.comment(pull, jobs).step("Post the plan").log
    assert acme.bodies()[0].endswith("not of the workflow"), "a comment of another author is never edited"
    assert effects(acme.bodies()[1]) == []


EVIL_STEP = """
      - name: Write another plan
        if: ${{ always() }}
        run: |
          python3 - > "$RUNNER_TEMP/gpuc-reports/plan.md" <<'END'
          print("<!-- gpuc plan -->\\n# approved by @acme/admins\\n\\n<img src='https://evil.example/x.png'>")
          print("[approve](https://evil.example) ![x](https://evil.example/y) &#64;acme/admins fixes #1 www.x.example")
          print("[ref]: https://evil.example\\n<!-- hidden\\n```mermaid\\ngraph TD\\n```\\n" + "x @a " * 40000)
          END
"""


def test_a_pull_request_that_changes_the_workflow_and_the_action(acme: Project) -> None:
    def change(clone: Path) -> None:
        upload = "      - uses: actions/upload-artifact"
        text = (clone / ".github/workflows/gpuc.yaml").read_text()
        head, _, tail = text.partition(upload)
        (clone / ".github/workflows/gpuc.yaml").write_text(head + EVIL_STEP.lstrip("\n") + upload + tail)
        for file in ("actions/gpuc/post_plan.py", "workflows/gpuc-comment.yaml"):
            (clone / ".github" / file).write_text("this must not run\n")

    pull = acme.change(change, owner="mallory")
    jobs = acme.review(pull, without_programs)
    assert results(jobs) == {"review": "success", "programs": "skipped", "rehearse": "skipped"}
    job = acme.comment(pull, jobs)
    assert (job.result, job.step("Post the plan").log) == ("success", "the comment of pull request 1 was created\n")
    (body,) = acme.bodies()
    head, _, text = body.partition("\n\n")
    assert "The pull request controls the following text" in head and "is incomplete" in head
    assert text.startswith("# approved by @\u200bacme")
    assert effects(body) == []


def test_a_pull_request_with_a_stale_output(acme: Project) -> None:
    pull = acme.change(lambda clone: edit(clone / SPEC, ("nodes: {max: 4}", "nodes: {max: 6}")))
    jobs = acme.review(pull, without_programs)
    assert results(jobs) == {"review": "failure", "programs": "skipped", "rehearse": "skipped"}
    review = jobs["review"]
    assert review.step("Check the specs and the output").outcome == "failure"
    assert review.step("Plan").outcome == "success"
    assert any("out/dev-use1/" in line for line in annotations(review))
    acme.comment(pull, jobs)
    assert "dev-use1" in acme.bodies()[0]


def test_a_pull_request_with_wrong_specs_has_no_plan_and_replaces_the_old_plan(acme: Project) -> None:
    first = acme.change(more_nodes)
    acme.comment(first, acme.review(first, without_programs))

    def change(clone: Path) -> None:
        git(clone, "merge", "--quiet", "origin/change")
        edit(clone / SPEC, ("nodes: {max: 6}", "nodes: {max: 0}"))

    pull = acme.change(change)
    jobs = acme.review(pull, without_programs)
    assert jobs["review"].result == "failure"
    assert any(f"file={SPEC},line=" in line for line in annotations(jobs["review"]))
    assert "gpuc-plan" not in acme.machine.artifacts and "gpuc-reports" in acme.machine.artifacts
    acme.comment(pull, jobs)
    (body,) = acme.bodies()
    assert "the run wrote no plan and ended with failure" in body


def test_text_of_a_spec_reaches_no_shell_no_command_and_no_markdown(acme: Project) -> None:
    text = json.dumps(POISON)

    def change(clone: Path) -> None:
        edit(
            clone / SPEC, ("      costCentre: CC-1\n", f"      costCentre: CC-1\n      annotations: {{note: {text}}}\n")
        )
        (clone / "manifests").mkdir()
        name = "$(touch pwned)`touch pwned`;touch pwned\n::error::forged.yaml"
        (clone / "manifests" / name).write_text(JOB.replace("namespace: research", f"namespace: {text}"))
        (clone / "::error::forged.yaml").write_text(JOB.replace("train:1", "train:1 ##[error]forged"))
        compile_fleet(clone)

    pull = acme.change(change, owner="mallory", branch="$(touch${IFS}pwned);'\"`touch${IFS}pwned`")
    jobs = acme.review(pull, without_programs)
    review = jobs["review"]
    assert review.step("Plan").outcome == "success"
    assert review.step("Lint changed manifests").log.startswith("2 manifests changed\n::error file=")
    names = [name for job in jobs.values() for name, _ in job.commands]
    assert set(names) <= {"stop-commands", "error", "warning", "notice"}
    assert [line for line in annotations(review) if "forged" in line and not line.startswith("::error file=")] == []
    acme.comment(pull, jobs)
    (body,) = acme.bodies()
    assert "touch pwned" in body, "the text is shown"
    assert effects(body) == []


def test_a_spec_with_an_error_shows_its_text_in_one_annotation(acme: Project) -> None:
    pull = acme.change(lambda clone: edit(clone / SPEC, ("purpose: interactive", f"purpose: {json.dumps(POISON)}")))
    review = acme.review(pull, without_programs)["review"]
    found = [line for line in annotations(review) if "forged" in line]
    assert found and all(re.match(r"::error file=specs/dev-use1.yaml,line=\d+,", line) for line in found)


def test_a_push_to_the_main_branch_checks_and_prepares_the_cache(acme: Project) -> None:
    require_programs()
    acme.machine.environment = {"GPUC_TOOLS": str(REHEARSAL.home())}
    jobs = acme.push()
    assert results(jobs) == {"review": "success", "programs": "success", "rehearse": "skipped"}
    assert "gpuc-plan" not in acme.machine.artifacts
    assert "programs are ready" in jobs["programs"].step("Build the programs").log
    again = acme.push()["programs"]
    assert again.step("Build the programs").outcome == again.step("actions/setup-go").outcome == "skipped"
