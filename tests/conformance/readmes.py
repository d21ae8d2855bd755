"""Follows the README of each example cluster with kubectl: `python -m tests.conformance.readmes`.

The control plane has the definitions of all kinds and the output of the cluster, and no controllers. bash runs the
commands in the order of the README. Commands of aws, helm and argocd only print a placeholder; tests/readme compares
them with the models of these programs.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc_rehearsal.apply import namespaces
from gpuc_rehearsal.client import Client
from gpuc_rehearsal.crds import definitions
from gpuc_rehearsal.plane.site import Site
from gpuc_rehearsal.programs import Programs, find_programs
from gpuc_rehearsal.tools.selection import OTHERS
from tests.conformance.bare_api_server import bare_plane, install, wait_established
from tests.conformance.check_result import CheckResult, report
from tests.conformance.readme_fields import Fields
from tests.conformance.readme_objects import OBJECTS, has_cilium, objects, placeholders, running_syncs
from tests.conformance.shared_plane import upstream_crds
from tests.conftest import EXAMPLES, HUB_CLUSTERS, root_of
from tests.readme.blocks import blocks, program
from tests.readme.recording import record

Object = dict[str, Any]
CLUSTERS = (*EXAMPLES, *HUB_CLUSTERS, "custom-euc1")
MISSING = "kubectl is neither in PATH nor built; run `gpuc tools --nodeadm`"
CONTEXTS = ("hub", "cluster")
FRAMEWORKS = ("jobset.x-k8s.io/jobset", "kubeflow.org/pytorchjob", "trainer.kubeflow.org/trainjob")
THREADS = 4
TIMEOUT_S = 300
_HANDLER = """
kubectl() {
  local record="$RECORD/$BASHPID.$RANDOM$RANDOM" more=() status=0
  case " $* " in
    *" logs "*) return 0 ;;
    *" delete "*) more=(--dry-run=server) ;;
    *" --watch "*) more=(--watch=false) ;;
  esac
  printf '%s\\0' "${BASH_LINENO[0]}" "$@" > "$record.command"
  "$KUBECTL" "$@" "${more[@]}" > "$record.out" 2> "$record.error" || status=$?
  printf '%s' "$status" > "$record.status"
  printf '%s' "$(< "$record.out")"
  return "$status"
}
jq() {
  local record="$RECORD/$BASHPID.$RANDOM$RANDOM" status=0
  printf '%s\\0' "${BASH_LINENO[0]}" jq "$@" > "$record.command"
  "$JQ" "$@" 2> "$record.error" || status=$?
  printf '%s' "$status" > "$record.status"
}
grep() { "$GREP" "$@"; }
command_not_found_handle() { printf '%s\\n' '[{"chart": "argo-cd-1.0.0"}]'; }
"""


@dataclass(frozen=True, slots=True)
class Run:
    """A command that ran."""

    line: int
    arguments: tuple[str, ...]
    status: int
    error: str


def find_kubectl() -> Path | None:
    """The path of kubectl, which `gpuc tools --nodeadm` builds, or of kubectl in PATH."""
    built = OTHERS["nodeadm"].home() / "bin" / "kubectl"
    found = str(built) if os.access(built, os.X_OK) else shutil.which("kubectl")
    return Path(found) if found else None


def checks(programs: Programs, crds: Path | None, clusters: Sequence[str] = CLUSTERS) -> Iterator[CheckResult]:
    """Yields a result for each cluster, and one for the commands that must fail.

    Args:
        crds: folder of upstream's CRDs; without the reference data None, and fields in a status are not compared.
    """
    kubectl = find_kubectl()
    if kubectl is None:
        print(f"the READMEs of the clusters are not followed: {MISSING}", flush=True)
        return
    with bare_plane(programs) as (site, client), ThreadPoolExecutor(THREADS) as pool:
        _create_definitions(programs, crds, client, pool)
        fields = Fields(client)
        for name in clusters:
            started = time.monotonic()
            spec = compiled_spec(root_of(name), f"specs/{name}.yaml")
            applied = _prepare(client, spec, pool)
            text, count = readme_program(name), fields.count
            runs = follow(kubectl, site, spec, text)
            problems = [
                *_failed(runs, spec),
                *(text for run in runs for text in fields.problems(run.line, run.arguments)),
            ]
            note = f"{len(runs)} commands, {fields.count - count} fields, {time.monotonic() - started:.0f} s"
            yield CheckResult(f"kubectl follows the README of {name}", "\n".join(problems), note)
            if name == clusters[-1]:
                yield _control(kubectl, site, spec, fields)
            list(pool.map(client.delete_object, applied))


def readme_program(name: str) -> str:
    """The README of a cluster as a shell program."""
    return program(blocks((root_of(name) / f"clusters/{name}/README.md").read_text(encoding="utf-8")))


def follow(kubectl: Path, site: Site, spec: CompiledSpec, text: str) -> list[Run]:
    """Runs the commands of a shell program in the folder of the fleet.

    Returns the commands of kubectl and jq, sorted by line. `kubectl logs` does not run, because the nodes have no
    kubelet. `kubectl delete` runs as a dry run, and `--watch` ends at once.
    """
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder, "records")
        records.mkdir()
        script, handler = Path(folder, "README"), Path(folder, "handler")
        script.write_text(substituted(text, placeholders(spec)), encoding="utf-8")
        handler.write_text(_HANDLER, encoding="utf-8")
        environment = {
            "PATH": "/nonexistent", "BASH_ENV": str(handler), "RECORD": str(records), "KUBECTL": str(kubectl),
            "KUBECONFIG": str(_kubeconfig(site, Path(folder))), "HOME": str(site.folder),
            "JQ": shutil.which("jq") or "/bin/true", "GREP": shutil.which("grep") or "/bin/true",
        }  # fmt: skip
        subprocess.run(
            ("/bin/bash", "--noprofile", "--norc", str(script)),
            cwd=root_of(spec.cluster.name),
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=TIMEOUT_S,
        )  # fmt: skip
        return sorted((_run(path) for path in records.glob("*.command")), key=lambda run: (run.line, run.arguments))


def substituted(text: str, names: dict[str, str]) -> str:
    """The program with existing names in place of placeholders. Variables and headers of columns stay."""
    text = text.replace("CONTEXT_OF_THE_CLUSTER_OF_ARGO_CD", CONTEXTS[0])
    text = re.sub(r"CONTEXT_OF_\S+", CONTEXTS[1], text)
    for placeholder, name in names.items():
        text = re.sub(rf"(?<![$\w{{])(?<!for ){placeholder}(?![\w=:])", name, text)
    return text


def _create_definitions(programs: Programs, crds: Path | None, client: Client, pool: ThreadPoolExecutor) -> None:
    own = yaml.safe_load(OBJECTS.read_text(encoding="utf-8"))["alertmanagers"]
    list(pool.map(lambda body: install(client, body), (*definitions(programs, crds, FRAMEWORKS).crds, own)))
    wait_established(client)


def _prepare(client: Client, spec: CompiledSpec, pool: ThreadPoolExecutor) -> list[Object]:
    """Creates the objects that stand for the work of others, and the output of a cluster.

    Constraints are left out, because Gatekeeper defines their kinds, and so are kinds of charts of the user.
    Returns the objects for their deletion before the next cluster. Namespaces stay, because nothing would empty them.
    """
    for document in (*namespaces(spec.synced), *(m.document() for m in spec.synced if m.kind == "Namespace")):
        client.apply(document)
    given = list(objects(spec))
    for document in given:
        _apply_with_status(client, document)
    others = [m.document() for m in spec.synced if m.kind != "Namespace" and client.serves(m.api, m.kind)]
    list(pool.map(client.apply, others))
    for application, status in running_syncs(spec):
        client.patch_object(application.document(), status)
    return [document for document in (*given, *others) if document["kind"] != "Namespace"]


def _apply_with_status(client: Client, document: Object) -> None:
    client.apply(document)
    if "status" in document:
        client.patch_object(document, {"status": document["status"]}, "status")


def _not_run(runs: list[Run], text: str) -> Iterator[str]:
    """Yields the commands of kubectl that did not run, for example after an error of the shell."""
    lines = {run.line for run in runs}
    for command in record(text).commands:
        if command.arguments[0] == "kubectl" and "logs" not in command.arguments and command.line not in lines:
            yield f"line {command.line}: {' '.join(command.arguments)} did not run"


def _failed(runs: list[Run], spec: CompiledSpec) -> Iterator[str]:
    """Yields the commands that failed and should not."""
    for run in runs:
        is_absent = "NotFound" in run.error and has_cilium(spec.cluster) and "aws-node" in run.arguments
        is_present = "AlreadyExists" in run.error and run.arguments[:2] == ("create", "namespace")
        if run.status and not is_absent and not is_present:
            yield f"line {run.line}: {' '.join(run.arguments)}: {run.error or f'status {run.status}'}"


_WRONG = """kubectl get nodez
kubectl get nodes missing
kubectl get nodes -o jsonpath='{.items[*'
kubectl get nodes --selectr a
kubectl get nodes -o json | jq '.items[' 
kubectl patch workload -n NAMESPACE NAME --type merge -p '{"spec":{"active":"x"}}'
kubectl annotate KIND missing a=b
kubectl delete nodeclaim missing --wait=false
kubectl get nodeclaims -o custom-columns='A:.status.nodeNme'
kubectl get nodes -o jsonpath='{.items[*].spec.providerId}'
"""
"""Commands with a mistake: the last two name fields that do not exist, which kubectl does not report."""


def _control(kubectl: Path, site: Site, spec: CompiledSpec, fields: Fields) -> CheckResult:
    """The result of commands with mistakes: each must have a problem."""
    runs = follow(kubectl, site, spec, _WRONG)
    wrong = {int(text.split()[1].rstrip(":")) for text in _failed(runs, spec)}
    wrong |= {run.line for run in runs for _ in fields.problems(run.line, run.arguments)}
    expected = set(range(1, _WRONG.count("\n") + 1))
    missed = [_WRONG.splitlines()[line - 1] for line in sorted(expected - wrong)]
    return CheckResult("commands with a mistake fail", "\n".join(missed), f"{len(expected)} commands")


def _run(path: Path) -> Run:
    line, *arguments = path.read_text(encoding="utf-8").split("\0")[:-1]
    status = path.with_suffix(".status")
    error = path.with_suffix(".error").read_text(encoding="utf-8").strip()
    return Run(int(line), tuple(arguments), int(status.read_text()), error)


def _kubeconfig(site: Site, folder: Path) -> Path:
    """A kubeconfig with two contexts for the same API server, which is the hub and the cluster."""
    document = json.loads(site.kubeconfig.read_text(encoding="utf-8"))
    (context,) = document["contexts"]
    document["contexts"] += [{**context, "name": name} for name in CONTEXTS]
    path = folder / "kubeconfig"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def main() -> int:
    return report(checks(find_programs(), upstream_crds(), sys.argv[1:] or CLUSTERS))


if __name__ == "__main__":
    sys.exit(main())
