"""Runs a workflow on this machine: a workspace for each job, every shell step, and emulations of the public actions.

The workflow and the local actions come from the commit of the run, as on GitHub. Actions are known by their name,
and must be pinned to a commit.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc_rehearsal.tools.selection import REHEARSAL
from tests.ci.expressions import Contexts, as_text, condition, interpolate
from tests.ci.hosting import CONFIG, Hosting, git

COMMANDS = re.compile(
    "add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|notice|remove-matcher|save-state|set-env|set-output|"
    "stop-commands|warning"
)
_COMMAND = re.compile(r"\s*::(\S+)(?: .*?)?::(.*)")
_OLD_COMMAND = re.compile(r"##\[([^\]\s]+)[^\]]*\]")
_PINNED = re.compile(r"(actions/[a-z-]+(?:/[a-z]+)?)@[0-9a-f]{40}")


@dataclass
class Step:
    """A step that ran."""

    name: str
    outcome: str
    seconds: float
    log: str = ""


@dataclass
class Job:
    """A job that ran or was skipped."""

    name: str
    result: str = "success"
    steps: list[Step] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    commands: list[tuple[str, str]] = field(default_factory=list)
    """The workflow commands that the job printed, with their messages."""
    summary: str = ""

    def step(self, name: str) -> Step:
        """The step with this name."""
        return next(step for step in self.steps if step.name == name)


@dataclass
class Machine:
    """What the jobs of all runs share: the repository, caches, artifacts, and the Python of setup-python."""

    hosting: Hosting
    folder: Path
    python: Callable[[Path], Path]
    """Returns the folder with `python`, for the folder of a job."""
    api_url: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    artifacts: dict[str, Path] = field(default_factory=dict)
    """The artifacts of the last run, by name."""
    caches: dict[str, Path] = field(default_factory=dict)
    tokens: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass
class Run:
    """A run of a workflow for an event."""

    machine: Machine
    github: dict[str, Any]
    """The context github: event_name, event, sha, ref, repository."""
    is_fork: bool = False
    skip: Callable[[str], bool] = lambda step: False
    """Whether a step is left out, by its name, because this machine lacks what the step needs."""

    def workflow(self, file: str) -> dict[str, Job]:
        """Runs all jobs of a workflow file, and returns them by name."""
        text = git(self.machine.hosting.bare, "show", f"{self.github['sha']}:.github/workflows/{file}")
        workflow = yaml.safe_load(text)
        jobs: dict[str, Job] = {}
        for name, job in workflow["jobs"].items():
            for instance in self._instances(name, job, jobs):
                jobs[instance[0]] = self._job(instance, workflow, job, jobs)
        return jobs

    def _instances(self, name: str, job: dict[str, Any], jobs: dict[str, Job]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields the names and matrix values of a job."""
        contexts = self._contexts(job, jobs)
        if not condition(job.get("if"), contexts):
            yield name, {"skipped": True}
            return
        matrix = interpolate_all(job.get("strategy", {}).get("matrix", {}), contexts)
        if not matrix:
            yield name, {}
        for key, values in matrix.items():  # the workflows have at most one dimension
            assert values, "GitHub refuses an empty matrix"
            for value in values:
                shown = interpolate(job.get("name", name), contexts.child(matrix={key: value}))
                yield shown, {key: value}

    def _contexts(self, job: dict[str, Any], jobs: dict[str, Job]) -> Contexts:
        needed = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
        needs = {name: {"result": jobs[name].result, "outputs": jobs[name].outputs} for name in needed}
        contexts = Contexts(github=self.github, needs=needs)
        contexts.status = "success" if all(need["result"] == "success" for need in needs.values()) else "failure"
        return contexts

    def _job(
        self, instance: tuple[str, dict[str, Any]], workflow: dict[str, Any], job: dict[str, Any], jobs: dict[str, Job]
    ) -> Job:
        name, matrix = instance
        if matrix.get("skipped"):
            return Job(name, "skipped")
        contexts = self._contexts(job, jobs).child(matrix=matrix)
        contexts.status = "success"
        permissions = job.get("permissions", workflow.get("permissions"))
        assert permissions is not None, "a job without permissions has those of the organization"
        execution = Execution(self, Job(name), job_folder(self.machine.folder, name), permissions)
        env = {**workflow.get("env", {}), **job.get("env", {})}
        execution.run(job, env, contexts)
        return execution.job


class Execution:
    """One job on its own machine."""

    def __init__(self, run: Run, job: Job, folder: Path, permissions: Mapping[str, str]) -> None:
        self.machine, self.github, self.job, self.folder = run.machine, dict(run.github), job, folder
        self.workspace, self.temp = folder / "workspace", folder / "temp"
        for path in (self.workspace, self.temp, folder / "home"):
            path.mkdir(parents=True)
        is_read_only = run.is_fork and run.github["event_name"] == "pull_request"
        granted = {name: "read" if is_read_only and level == "write" else level for name, level in permissions.items()}
        token = f"token-{len(self.machine.tokens)}"
        self.machine.tokens[token] = granted
        self.github["token"] = token
        self.path = ["/usr/local/bin", "/usr/bin", "/bin"]
        self.stopped = ""
        self.skip = run.skip

    def run(self, job: dict[str, Any], env: dict[str, str], contexts: Contexts) -> None:
        """Runs the steps, and computes the outputs."""
        runner = {"os": "Linux", "arch": "X64", "temp": str(self.temp)}
        contexts = contexts.child(github=self.github, runner=runner, steps={}, env=interpolate_all(env, contexts))
        self._steps(job["steps"], contexts)
        self.job.result = contexts.status
        self.job.outputs = {
            name: as_text(interpolate(value, contexts)) for name, value in job.get("outputs", {}).items()
        }

    def _steps(self, steps: list[dict[str, Any]], contexts: Contexts) -> None:
        for step in steps:
            name = str(step.get("name") or step.get("uses", "").partition("@")[0] or step["run"].splitlines()[0])
            started = time.monotonic()
            outputs: dict[str, str] = {}
            if self.skip(name) or not condition(step.get("if"), contexts):
                outcome, log = "skipped", ""
            else:
                own = contexts.child(env={**contexts["env"], **interpolate_all(step.get("env", {}), contexts)})
                code, outputs, log = self._step(step, own)
                outcome = "failure" if code else "success"
            contexts["steps"][step.get("id", f"_{len(contexts['steps'])}")] = {"outputs": outputs, "outcome": outcome}
            self.job.steps.append(Step(name, outcome, time.monotonic() - started, log))
            print(f"{self.job.name}: {name}: {outcome}\n{log}", end="")  # pytest shows it if the test fails
            if outcome == "failure":
                contexts.status = "failure"

    def _step(self, step: dict[str, Any], contexts: Contexts) -> tuple[int, dict[str, str], str]:
        if "run" in step:
            assert "${{" not in step["run"], "an expression in a shell script can be a command"
            return self._shell(step, contexts)
        given = {name: as_text(value) for name, value in interpolate_all(step.get("with", {}), contexts).items()}
        if step["uses"].startswith("./"):
            return self._composite(step["uses"], given, contexts)
        action = _PINNED.fullmatch(step["uses"])
        assert action is not None, f"{step['uses']} is not pinned"
        from tests.ci.actions import ACTIONS

        return 0, ACTIONS[action[1]](self, given) or {}, ""

    def _composite(self, path: str, given: dict[str, str], contexts: Contexts) -> tuple[int, dict[str, str], str]:
        action = yaml.safe_load((self.workspace / path / "action.yml").read_text("utf-8"))
        unknown = set(given) - set(action["inputs"])
        assert not unknown, unknown
        inputs = {name: given.get(name, declared.get("default", "")) for name, declared in action["inputs"].items()}
        own = contexts.child(inputs=inputs, steps={}, env=dict(contexts["env"]))
        own.status = "success"
        self._steps(action["runs"]["steps"], own)
        outputs = {
            name: as_text(interpolate(declared["value"], own)) for name, declared in action.get("outputs", {}).items()
        }
        return int(own.status == "failure"), outputs, ""

    def _shell(self, step: dict[str, Any], contexts: Contexts) -> tuple[int, dict[str, str], str]:
        """Runs a script as the runner of GitHub does for `shell: bash`."""
        files = {name: self.temp / f"{name.lower()}-{time.monotonic_ns()}" for name in ("GITHUB_OUTPUT", "GITHUB_ENV")}
        files["GITHUB_STEP_SUMMARY"] = self.temp / f"summary-{time.monotonic_ns()}"
        script = self.temp / f"script-{time.monotonic_ns()}.sh"
        script.write_text(step["run"])
        for file in files.values():
            file.touch()
        environment = {**self._environment(), **{name: str(file) for name, file in files.items()}}
        environment |= {name: as_text(value) for name, value in contexts["env"].items()}
        folder = self.workspace / as_text(interpolate(step.get("working-directory", "."), contexts))
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        log = done.stdout.decode("utf-8", "replace")
        self._read_commands(log)
        self.job.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        rows = [row.partition("=") for row in files["GITHUB_OUTPUT"].read_text().splitlines()]
        return done.returncode, {name: value for name, _, value in rows}, log

    def _environment(self) -> dict[str, str]:
        event = self.folder / "event.json"
        github = {name.upper(): value for name, value in self.github.items() if isinstance(value, str)}
        del github["TOKEN"]  # no script gets the token without `env`
        event.write_text(json.dumps(self.github["event"]))
        return {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "HOME": str(self.folder / "home"),
            "PATH": ":".join(self.path),
            "LANG": "C.UTF-8",
            "RUNNER_TEMP": str(self.temp),
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": "X64",
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_API_URL": self.machine.api_url,
            **{f"GITHUB_{name}": value for name, value in github.items()},
            **CONFIG,
            **self.machine.environment,
        }

    def _read_commands(self, log: str) -> None:
        """Collects what the runner would take for a command. stop-commands ends this until its token is printed.

        Source: https://github.com/actions/runner src/Runner.Common/ActionCommand.cs
        """
        for line in log.splitlines():
            if self.stopped:
                if line.strip() == f"::{self.stopped}::":
                    self.stopped = ""
                continue
            found = _COMMAND.fullmatch(line) or _OLD_COMMAND.search(line)
            if found and found[1] == "stop-commands":
                self.stopped = found[2]
            elif found and COMMANDS.fullmatch(found[1]):
                self.job.commands.append((found[1], line))


def interpolate_all(values: Any, contexts: Contexts) -> Any:
    """The values of a map or a list with expressions."""
    if isinstance(values, Mapping):
        return {name: interpolate_all(value, contexts) for name, value in values.items()}
    if isinstance(values, list):
        return [interpolate_all(value, contexts) for value in values]
    return interpolate(values, contexts)


def results(jobs: Mapping[str, Job]) -> dict[str, str]:
    """The results of jobs by name."""
    return {name: job.result for name, job in jobs.items()}


def job_folder(folder: Path, name: str) -> Path:
    """A new folder for a job."""
    found = folder / f"{len(list(folder.iterdir()))}-{re.sub('[^a-z0-9]+', '-', name.lower())[:40]}"
    found.mkdir()
    return found


def without_programs(step: str) -> bool:
    """Whether a step needs the programs of the rehearsal, which take minutes to build."""
    return step in ("Build the programs", "actions/cache/save", "actions/setup-go") or step.startswith(
        ("Run the test cases", "Apply the change")
    )


def require_programs() -> None:
    """Skips a test that needs the programs of `gpuc tools`, if one of them is missing."""
    home = REHEARSAL.home()
    missing = [program.name for program in REHEARSAL.programs if not (home / "bin" / program.name).exists()]
    if missing:
        pytest.skip(f"`gpuc tools` was not run: {', '.join(missing)} missing in {home}")


def shared_python(folder: Path) -> Path:
    """The Python that runs the tests, in which gpuc is installed."""
    return Path(sys.executable).parent


def fresh_python(folder: Path) -> Path:
    """A new virtual environment."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "python")], check=True)
    return folder / "python/bin"


def copy(source: Path, target: Path) -> None:
    """Copies a file or the content of a folder."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def pip_settings() -> dict[str, str]:
    """The variables that configure pip, Go and the network."""
    names = ("XDG_CACHE_HOME", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "GOPROXY", "GOSUMDB")
    known = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.upper() in names}
    return {"PIP_CACHE_DIR": os.path.expanduser("~/.cache/pip")} | known
