"""Runs the commands of the GPU gate with a real kubectl and a real API server, with the permissions of the gate.

`make conformance-all` runs this module after `gpuc tools --nodeadm`, which builds kubectl. Without kubectl the test
does not run. A Node object has the taints and labels of a new node. The report of the node is written by the script of
its user data, with a stub of nvidia-smi.
"""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gpuc.components.gpu_operator.gpu_gate import NAME, NODE_NAME_KEY, REPORT, gate_user, gpu_gate
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, GpuPool
from gpuc.model.names import GPUS_CONDITION, GPUS_TAINT, MIG_CONFIG_LABEL, OPERANDS_LABEL
from gpuc_rehearsal.client import Client, Object, new_object
from gpuc_rehearsal.plane.site import Site
from gpuc_rehearsal.programs import find_programs
from gpuc_rehearsal.tools.selection import OTHERS
from tests.conformance.bare_api_server import bare_plane
from tests.conformance.check_result import CheckResult, report
from tests.conftest import example
from tests.substrates.eks.karpenter.gpu_node import Node

POOLS = (("prod-use1", "serve-a100"), ("prod-use1", "train-h100"), ("infer-euw1", "models-a100"))
"""MIG by user data; complete GPUs with EFA; MIG by the GPU Operator."""


@dataclass
class Gate:
    """The GPU gate of a pool, with a Node object of the pool."""

    cluster: Cluster
    pool: GpuPool
    client: Client
    kubectl: Callable[[Sequence[str]], str]
    """Runs kubectl with the permissions of the gate; returns the error, or an empty string if the command succeeds."""
    folder: Path

    @property
    def node(self) -> str:
        return f"{self.cluster.name}-{self.pool.name}"

    def create(self) -> None:
        """Creates the Node object as Karpenter and the kubelet do."""
        taints = [taint.document() for taint in (*self.pool.taints, *self.pool.startup_taints)]
        metadata = {"name": self.node, "labels": {**self.pool.labels, **self.pool.startup_labels}}
        self.client.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": taints}})

    def document(self) -> Object:
        return self.client.get("v1", "Node", self.node)

    def taints(self) -> list[str]:
        """Returns the keys of the taints, without the taint that the API server adds to every new Node."""
        keys = [taint["key"] for taint in self.document()["spec"].get("taints", [])]
        return [key for key in keys if key != "node.kubernetes.io/not-ready"]

    def condition(self) -> str:
        conditions = self.document().get("status", {}).get("conditions", [])
        found = [row for row in conditions if row["type"] == GPUS_CONDITION]
        return f"{found[0]['status']}: {found[0]['message']}" if found else "none"

    def report(self, *, fails: bool) -> None:
        """Runs the script of user data, which writes the report."""
        folder = self.folder / ("failure" if fails else "success")
        folder.mkdir()
        node = Node(folder, self.pool, self.cluster)
        if fails:
            (folder / "mode-0").unlink()
        assert node.boot() == int(fails), node.error
        (self.folder / "report.json").write_bytes((node.runtime / "node-status.json").read_bytes())

    def advertise(self) -> None:
        """Sets the allocatable resources of the node as the kubelet does."""
        amounts = {name: str(count) for name, count in self.pool.advertised(self.pool.instances[0]).items()}
        self.patch({"status": {"capacity": amounts, "allocatable": amounts}}, "--subresource=status")

    def patch(self, body: Body, *flags: str) -> None:
        """Changes the Node object with administrator permissions."""
        self.client.patch_object(new_object("v1", "Node", self.node), body, "status" if flags else "")

    def commands(self) -> dict[str, list[str]]:
        """Returns the arguments of kubectl by the name of the init container."""
        (pod,) = (
            manifest.body["spec"]["template"]["spec"]
            for manifest in gpu_gate(self.cluster)
            if manifest.kind == "DaemonSet" and manifest.name == f"{NAME}-{self.pool.name}"
        )
        return {container["name"]: list(map(self._word, container["args"])) for container in pod["initContainers"]}

    def _word(self, word: str) -> str:
        word = word.replace("$(NODE_NAME)", self.node).replace(REPORT, str(self.folder / "report.json"))
        return "--timeout=2s" if word.startswith("--timeout=") else word


def life_of(gate: Gate) -> Iterator[str]:
    """Runs the commands of the gate in order, and yields what differs from the expectation."""
    commands = gate.commands()
    gate.create()

    def run(name: str, *, succeeds: bool) -> Iterator[str]:
        error = gate.kubectl(commands[name])
        if bool(error) == succeeds:
            yield f"{name} fails: {error}" if succeeds else f"{name} succeeds too early"

    yield from run("wait-for-karpenter", succeeds=False)
    gate.patch({"metadata": {"labels": {"karpenter.sh/registered": "true"}}})
    yield from run("wait-for-karpenter", succeeds=True)
    yield from run("hold", succeeds=True)
    if gate.pool.reports_gpus:
        gate.report(fails=True)
        yield from run("report", succeeds=True)
        if not gate.condition().startswith("False: nvidia-smi finds "):
            yield f"after a failure the condition is {gate.condition()}"
        yield from run("wait-for-gpus", succeeds=False)
        gate.report(fails=False)
        yield from run("report", succeeds=True)
        yield from run("wait-for-gpus", succeeds=True)
    if gate.pool.startup_labels:
        yield from run("start-operands", succeeds=True)
        if OPERANDS_LABEL in gate.document()["metadata"]["labels"]:
            yield "the operands do not start"
        yield from run("start-operands", succeeds=True)
    if gate.pool.mig_by_operator:
        yield from run("wait-for-layout", succeeds=False)
        gate.patch({"metadata": {"labels": {f"{MIG_CONFIG_LABEL}.state": "success"}}})
        yield from run("wait-for-layout", succeeds=True)
    waits = [name for name in commands if name.startswith("wait-for-") and "allocatable" in " ".join(commands[name])]
    yield from (line for name in waits[:1] for line in run(name, succeeds=False))
    gate.advertise()
    yield from (line for name in waits for line in run(name, succeeds=True))
    if GPUS_TAINT not in gate.taints():
        yield "the taint is gone before the last command"
    yield from run("release", succeeds=True)
    if gate.taints() != [taint.key for taint in gate.pool.taints]:
        yield f"the node has the taints {gate.taints()}"
    yield from (line for name in ("hold", "release") for line in run(name, succeeds=True))


def checks(program: Path) -> Iterator[CheckResult]:
    """Starts etcd and an API server, and yields a result for each pool."""
    with ExitStack() as stack:
        site, client = stack.enter_context(bare_plane(find_programs()))
        cluster = example("prod-use1")
        namespace = cluster.components["gpu-operator"].namespace
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        for manifest in gpu_gate(cluster):
            client.apply(manifest.document())
        gates = []
        for name, pool_name in POOLS:
            cluster = example(name)
            (pool,) = (pool for pool in cluster.gpu_pools if pool.name == pool_name)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            kubectl = kubectl_on(f"{name}-{pool_name}", gate_user(cluster), program, site)
            gates.append(Gate(cluster, pool, client, kubectl, folder))
            problems = list(life_of(gates[-1]))
            yield CheckResult(f"the GPU gate of {name} {pool_name} frees its node in time", "; ".join(problems))
        refused = [verb for verb in ("delete", "create") if not kubectl(["auth", "can-i", verb, "nodes"])]
        yield CheckResult("the GPU gate may not create or delete nodes", ", ".join(refused))
        yield CheckResult("the GPU gate may not change the Node of another gate", _changes(gates[0], gates[1]))


def _changes(gate: Gate, other: Gate) -> str:
    """Returns the commands of another gate that the permissions of a gate allow."""
    commands = other.commands()
    errors = {name: gate.kubectl(commands[name]) for name in ("hold", "report")}
    return ", ".join(name for name, error in errors.items() if "changes only the Node on which it runs" not in error)


def kubectl_on(node: str, user: str, program: Path, site: Site) -> Callable[[Sequence[str]], str]:
    """Returns a function that runs kubectl as the gate on a node, and returns the error."""
    base = [str(program), f"--kubeconfig={site.kubeconfig}", f"--as={user}", "--as-group=system:serviceaccounts"]
    base.append(f"--as-user-extra={NODE_NAME_KEY}={node}")

    def kubectl(arguments: Sequence[str]) -> str:
        done = subprocess.run([*base, *arguments], capture_output=True, text=True, timeout=60, check=False)
        return (done.stdout + done.stderr).strip() or "no output" if done.returncode else ""

    return kubectl


def main(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    program = OTHERS["nodeadm"].home() / "bin" / "kubectl"
    if not program.exists():
        print("not run: the GPU gate with a real kubectl: run `gpuc tools --nodeadm`")
        return 0
    return report(checks(program))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
