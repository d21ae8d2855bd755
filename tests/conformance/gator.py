"""Tests the policies with gator: their examples, the emitted workload templates, and objects that violate policies."""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from gpuc.components.gatekeeper.component import gatekeeper
from gpuc.emit.tenants import tenants
from gpuc.emit.workloads import workloads
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.policy.library import Policy, policies
from gpuc_rehearsal.sample_workloads import WorkloadFactory
from gpuc_rehearsal.suites.policies import emitted_name
from gpuc_rehearsal.violations import violations
from tests.conformance.check_result import CheckResult
from tests.derive.policies import SOURCES

Object = dict[str, Any]
CONSTRAINT_API = "constraints.gatekeeper.sh/v1beta1"


def verify_examples(gator: Path, folder: Path, cluster: Cluster) -> Iterator[CheckResult]:
    """Runs `gator verify` on the examples of every policy, with the ConstraintTemplates of the cluster."""
    templates = {
        manifest.name: manifest for manifest in _manifests(gatekeeper(cluster)) if manifest.kind == "ConstraintTemplate"
    }
    for policy in policies().values():
        suite = folder / policy.name
        cases = write_suite(suite, policy, templates[policy.kind.lower()].document())
        done = subprocess.run([gator, "verify", suite / "suite.yaml"], capture_output=True, text=True, check=False)
        problem = "" if done.returncode == 0 else f"{done.stdout}{done.stderr}".strip()
        yield CheckResult(
            f"gator allows and denies the examples of policy {policy.name} as expected", problem, f"{cases} examples"
        )


def write_suite(folder: Path, policy: Policy, template: Object) -> int:
    """Writes a gator suite with template, constraint and examples; returns the number of test cases."""
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


POLICIES_ON_USERS = ("gpu-quota", "owned-workloads")
"""Policies that a request without a user passes. gator tests these policies with the examples, which name a user."""


def review_cluster(gator: Path, folder: Path, cluster: Cluster) -> Iterator[CheckResult]:
    """Checks that workload templates violate no policy, and that objects made to violate a policy do so."""
    policy_objects = [manifest for manifest in _manifests(gatekeeper(cluster)) if manifest.kind != "Config"]
    policy_objects += [manifest for manifest in _manifests(tenants(cluster)) if manifest.kind == "Namespace"]
    context = [manifest.document() for manifest in policy_objects]
    templates = [manifest.document() for manifest in _manifests(workloads(cluster))]
    violated = _violations(gator, folder / f"{cluster.name}-workloads.yaml", [*context, *templates])
    problem = "; ".join(sorted(f"{name} violates {', '.join(names)}" for name, names in violated.items()))
    name = f"the workload templates of {cluster.name} violate no policy in gator"
    yield CheckResult(name, problem, f"{len(templates)} objects")
    violating = list(_violating_objects(cluster))
    objects = [document for _, _, document in violating]
    violated = _violations(gator, folder / f"{cluster.name}-violating.yaml", [*context, *objects])
    missed = [name for name, constraint, document in violating if constraint not in violated.get(_name(document), ())]
    problem = f"gator found no violation in: {', '.join(missed)}" if missed else ""
    yield CheckResult(
        f"gator finds the violations of the policies of {cluster.name}", problem, f"{len(objects)} objects"
    )


def _violating_objects(cluster: Cluster) -> Iterator[tuple[str, str, Object]]:
    """Descriptions, violated constraints and objects; every object has a unique name."""
    emitted = {manifest.name for manifest in _manifests(gatekeeper(cluster))}
    number = 0
    for tenant, namespace in cluster.namespaces:
        factory = WorkloadFactory(cluster, tenant, namespace)
        for sample in violations(factory):
            constraint = emitted_name(factory, sample.policy)
            # gator reviews objects without an operation, as the audit does: a pod with a nodeName is running.
            is_running = "nodeName" in sample.document.get("spec", {})
            if constraint in emitted and not is_running and sample.policy not in POLICIES_ON_USERS:
                number += 1
                sample.document["metadata"]["name"] = f"violating-{number}"
                yield f"{namespace.name} {sample.policy} {sample.name}", constraint, sample.document


def _violations(gator: Path, file: Path, documents: Iterable[Object]) -> dict[str, set[str]]:
    """Names of violated constraints by the name of the object."""
    file.write_text("\n---\n".join(json.dumps(document) for document in documents), encoding="utf-8")
    done = subprocess.run([gator, "test", "-f", file, "-o", "json"], capture_output=True, text=True, check=False)
    if done.stderr or done.returncode not in (0, 1):
        raise RuntimeError(f"gator test {file.name}: {done.stderr or done.stdout}")
    violated: dict[str, set[str]] = {}
    for row in json.loads(done.stdout) or ():
        violated.setdefault(_name(row["violatingObject"]), set()).add(row["constraint"]["metadata"]["name"])
    return violated


def _name(document: Object) -> str:
    return str(document["metadata"]["name"])


def _examples(policy: Policy, verdict: str) -> Iterator[Object]:
    text = (SOURCES / policy.name / f"{verdict}.yaml").read_text(encoding="utf-8")
    for part in re.split(r"^---\n", text, flags=re.MULTILINE):
        yield yaml.safe_load(part)


def _manifests(artifacts: Iterable[object]) -> list[Manifest]:
    return [artifact for artifact in artifacts if isinstance(artifact, Manifest)]


def _write(file: Path, document: Object) -> None:
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
