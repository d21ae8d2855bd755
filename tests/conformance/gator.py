"""gator as a judge of policies: suites made from the policy folders, and the emitted tree with work beside it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from gpuc.emit.gatekeeper import gatekeeper
from gpuc.emit.tenants import tenants
from gpuc.emit.workloads import workloads
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.policy.library import SOURCES, Policy, policies
from gpuc.rehearse.sample_workloads import WorkloadFactory
from gpuc.rehearse.suites.policies import emitted_name
from gpuc.rehearse.violations import violations
from tests.conformance.outcome import Check

Object = dict[str, Any]
CONSTRAINT_API = "constraints.gatekeeper.sh/v1beta1"


def verify(gator: Path, folder: Path, cluster: Cluster) -> Iterator[Check]:
    """Writes a suite per policy below a folder, its templates as the cluster has them, and has gator run each."""
    templates = {each.name: each for each in _manifests(gatekeeper(cluster)) if each.kind == "ConstraintTemplate"}
    for policy in policies().values():
        suite = folder / policy.name
        cases = write_suite(suite, policy, templates[policy.kind.lower()].document())
        done = subprocess.run([gator, "verify", suite / "suite.yaml"], capture_output=True, text=True, check=False)
        problem = "" if done.returncode == 0 else f"{done.stdout}{done.stderr}".strip()
        yield Check(f"gator verify {policy.name}", problem, f"{cases} cases")


def write_suite(folder: Path, policy: Policy, template: Object) -> int:
    """Template, constraint, examples and the suite that joins them; how many cases it has."""
    folder.mkdir(parents=True)
    spec = {"enforcementAction": "deny", "match": {"kinds": list(policy.kinds)}, "parameters": policy.sample}
    metadata = {"name": policy.name}
    _write(folder / "template.yaml", template)
    _write(
        folder / "constraint.yaml",
        {"apiVersion": CONSTRAINT_API, "kind": policy.kind, "metadata": metadata, "spec": spec},
    )
    cases = []
    for verdict, violated in (("allowed", "no"), ("denied", "yes")):
        for number, document in enumerate(_examples(policy, verdict)):
            name = f"{verdict}-{number}"
            _write(folder / f"{name}.yaml", document)
            cases.append({"name": name, "object": f"{name}.yaml", "assertions": [{"violations": violated}]})
    test = {"name": policy.name, "template": "template.yaml", "constraint": "constraint.yaml", "cases": cases}
    suite = {"apiVersion": "test.gatekeeper.sh/v1alpha1", "kind": "Suite", "metadata": metadata, "tests": [test]}
    _write(folder / "suite.yaml", suite)
    return len(cases)


def judge(gator: Path, folder: Path, cluster: Cluster) -> Iterator[Check]:
    """Templates that users copy violate nothing; what is made to break a policy violates that one."""
    frame = [each for each in _manifests(gatekeeper(cluster)) if each.kind != "Config"]
    frame += [each for each in _manifests(tenants(cluster)) if each.kind == "Namespace"]
    tree = [each.document() for each in frame]
    copied = [each.document() for each in _manifests(workloads(cluster))]
    found = _violations(gator, folder / f"{cluster.name}-workloads.yaml", [*tree, *copied])
    problem = "; ".join(sorted(f"{name}: {', '.join(words)}" for name, words in found.items()))
    yield Check(f"gator test {cluster.name} workload templates", problem, f"{len(copied)} objects")
    planted = list(_planted(cluster))
    objects = [document for _, _, document in planted]
    found = _violations(gator, folder / f"{cluster.name}-planted.yaml", [*tree, *objects])
    missed = [name for name, constraint, document in planted if constraint not in found.get(_name(document), ())]
    note = f"{len(objects)} objects"
    yield Check(f"gator test {cluster.name} planted violations", f"taken: {', '.join(missed)}" if missed else "", note)


def _planted(cluster: Cluster) -> Iterator[tuple[str, str, Object]]:
    """(what it is, the constraint that it breaks, the object), each under a name of its own."""
    emitted = {each.name for each in _manifests(gatekeeper(cluster))}
    number = 0
    for tenant in cluster.tenants:
        for namespace in tenant.namespaces:
            factory = WorkloadFactory(cluster, tenant, namespace)
            for sample in violations(factory):
                constraint = emitted_name(factory, sample.policy)
                # gator judges without an operation, as reports do: a pod on a node is one that runs.
                if constraint in emitted and "nodeName" not in sample.document.get("spec", {}):
                    number += 1
                    sample.document["metadata"]["name"] = f"planted-{number}"
                    yield f"{namespace.name} {sample.policy} {sample.name}", constraint, sample.document


def _violations(gator: Path, file: Path, documents: Iterable[Object]) -> dict[str, set[str]]:
    """Names of the constraints that each object violates, by the object's name."""
    file.write_text("\n---\n".join(json.dumps(each) for each in documents), encoding="utf-8")
    done = subprocess.run([gator, "test", "-f", file, "-o", "json"], capture_output=True, text=True, check=False)
    if done.stderr or done.returncode not in (0, 1):
        raise RuntimeError(f"gator test {file.name}: {done.stderr or done.stdout}")
    found: dict[str, set[str]] = {}
    for row in json.loads(done.stdout) or ():
        found.setdefault(_name(row["violatingObject"]), set()).add(row["constraint"]["metadata"]["name"])
    return found


def _name(document: Object) -> str:
    return str(document["metadata"]["name"])


def _examples(policy: Policy, verdict: str) -> Iterator[Object]:
    text = (SOURCES / policy.name / f"{verdict}.yaml").read_text(encoding="utf-8")
    for part in re.split(r"^---\n", text, flags=re.MULTILINE):
        yield yaml.safe_load(part)


def _manifests(artifacts: Iterable[object]) -> list[Manifest]:
    return [each for each in artifacts if isinstance(each, Manifest)]


def _write(file: Path, document: Object) -> None:
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
