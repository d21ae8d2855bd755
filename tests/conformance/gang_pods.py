"""Pods of a gang on this machine: one network namespace per pod, and the command of the template with torchrun."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT

TEMPLATE = ROOT / "out/prod-use1/workloads/train-h100.yaml"
TRAIN_JOB = ROOT / "out/prod-use1/workloads/research/pretrain.yaml"
RUNTIMES = ROOT / "out/prod-use1/tenants/research.yaml"
AUTO = "auto"
"""The processes of a node of which Trainer knows the GPUs: torchrun starts one for each GPU, and without GPUs for each
CPU."""
INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
BRIDGE = "gpuc-gang"
"""The network namespace with the bridge that connects the pods."""


@dataclass(frozen=True)
class Pod:
    """A pod of an Indexed Job: its network, its host name, and its record in the cluster's DNS."""

    job: dict[str, Any]
    index: int
    attempt: int = 0
    """The number of earlier pods with this index. Each pod has a new address."""

    @property
    def name(self) -> str:
        return f"{self.job['metadata']['name']}-{self.index}"

    @property
    def namespace(self) -> str:
        """The name of the pod's network namespace."""
        return f"{BRIDGE}-{self.index}"

    @property
    def address(self) -> str:
        return f"10.213.{self.attempt}.{self.index + 1}"

    @property
    def dns_name(self) -> str:
        subdomain = self.job["spec"]["template"]["spec"]["subdomain"]
        return f"{self.name}.{subdomain}.{self.job['metadata']['namespace']}.svc.cluster.local"

    @property
    def short_name(self) -> str:
        """The name that the search list of the cluster's DNS completes to dns_name."""
        return f"{self.name}.{self.job['spec']['template']['spec']['subdomain']}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the container. Those with a reference have the completion index as their value."""
        container = self.job["spec"]["template"]["spec"]["containers"][0]
        return {row["name"]: row.get("value", str(self.index)) for row in container.get("env", ())}

    @property
    def command(self) -> list[str]:
        """The command of the container, with $(JOB_COMPLETION_INDEX) expanded as by the kubelet."""
        container = self.job["spec"]["template"]["spec"]["containers"][0]
        return [word.replace("$(JOB_COMPLETION_INDEX)", str(self.index)) for word in container["command"]]


def gang_job() -> dict[str, Any]:
    """Returns the Job of the template."""
    (job,) = [body for body in yaml.safe_load_all(TEMPLATE.read_text()) if body["kind"] == "Job"]
    return dict(job)


def gang_of_train_job() -> dict[str, Any]:
    """Returns the Job that Trainer and JobSet make of the template of a TrainJob and of its runtime.

    Source: kubeflow/trainer v2.3.0 pkg/runtime/framework/plugins/torch/torch.go (EnforceMLPolicy);
    kubernetes-sigs/jobset v0.12.0 pkg/controllers/jobset_controller.go (constructJob, addPodHostnameAndSubdomain).
    tests/conformance/training_cases.py compares the variables with those of the real Trainer.
    """
    train_job = yaml.safe_load(TRAIN_JOB.read_text())
    metadata, trainer = train_job["metadata"], train_job["spec"]["trainer"]
    runtime = next(
        body
        for body in yaml.safe_load_all(RUNTIMES.read_text())
        if (body["kind"], body["metadata"]["name"]) == ("TrainingRuntime", train_job["spec"]["runtimeRef"]["name"])
    )
    (replicated,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    spec, name, nodes = replicated["template"]["spec"], metadata["name"], trainer["numNodes"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    variables = {
        "PET_NNODES": str(nodes), "PET_NPROC_PER_NODE": AUTO, "PET_MASTER_ADDR": f"{name}-node-0-0.{name}",
        "PET_MASTER_PORT": "29500",
    }  # fmt: skip
    container["command"] = trainer["command"]
    container["env"] += [{"name": key, "value": value} for key, value in variables.items()]
    container["env"].append({"name": "PET_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": INDEX}}})
    spec |= {"parallelism": nodes, "completions": nodes}
    pod["subdomain"] = name
    return {"metadata": {"name": f"{name}-node-0", "namespace": metadata["namespace"]}, "spec": spec}


def missing_requirement() -> str:
    """Returns why the test cannot run; the empty string if it can."""
    python = os.environ.get("GPUC_TORCH_PYTHON", "")
    if not python or not Path(python).exists():
        return "GPUC_TORCH_PYTHON does not name a Python with PyTorch"
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        return f"{python} cannot import torch"
    if not shutil.which("ip") or os.geteuid() != 0:
        return "network namespaces need root and the program ip"
    return ""


def ranks_of(pods: Sequence[Pod]) -> int:
    """Returns the number of ranks of the gang."""
    if pods[0].environment.get("PET_NPROC_PER_NODE") == AUTO:
        return len(pods) * (os.cpu_count() or 1)
    (option,) = [word for word in pods[0].command if word.startswith("--nproc-per-node=")]
    return len(pods) * int(option.split("=")[1])


def publish(folder: Path, pods: Sequence[Pod], started: Sequence[Pod]) -> None:
    """Writes the hosts file of every pod: the pod itself as the kubelet does, and the DNS records of started pods."""
    for pod in pods:
        lines = ["127.0.0.1 localhost", f"{pod.address} {pod.dns_name} {pod.name}"]
        lines += [f"{other.address} {other.dns_name} {other.short_name}" for other in started if other is not pod]
        lines += [f"{pod.address} {pod.short_name}"] if pod in started else []
        (folder / f"{pod.name}.hosts").write_text("\n".join(lines) + "\n")


def start(folder: Path, pod: Pod, log: Any) -> subprocess.Popen[str]:
    """Starts the command of the pod as process 1 of a process namespace, with the Python that has PyTorch."""
    script = 'hostname "$1" && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"'
    torch_python = os.environ["GPUC_TORCH_PYTHON"]
    programs = {"python3": [torch_python], "torchrun": [torch_python, "-m", "torch.distributed.run"]}
    assert "torchrun" in pod.command, pod.command
    run = [argument for word in pod.command for argument in programs.get(word, [word])]
    return subprocess.Popen(
        ["ip", "netns", "exec", pod.namespace, "unshare", "--mount", "--uts", "--pid", "--fork", "--mount-proc",
         "sh", "-c", script, "sh", pod.name, str(folder / f"{pod.name}.hosts"), *run],
        cwd=folder, stdout=log, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env={
            **os.environ, **pod.environment, "JOB_COMPLETION_INDEX": str(pod.index), "CUDA_VISIBLE_DEVICES": "",
        },
    )  # fmt: skip


def kill(pod: Pod) -> None:
    """Kills all processes of the pod."""
    listing = subprocess.run(["ip", "netns", "pids", pod.namespace], capture_output=True, text=True, check=False)
    for process in map(int, listing.stdout.split()):
        os.kill(process, signal.SIGKILL)


@contextmanager
def network(pods: Sequence[Pod]) -> Iterator[None]:
    """A network namespace for each pod, connected by a bridge."""
    namespaces = [BRIDGE, *(pod.namespace for pod in pods)]
    try:
        ip("netns", "add", BRIDGE)
        ip("-n", BRIDGE, "link", "add", "bridge", "type", "bridge")
        ip("-n", BRIDGE, "link", "set", "bridge", "up")
        for pod in pods:
            connect(pod)
        yield
    finally:
        for pod in pods:
            kill(pod)
        for namespace in namespaces:
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True, check=False)


def connect(pod: Pod) -> None:
    """Creates the network namespace of the pod, with the pod's address."""
    ip("netns", "add", pod.namespace)
    ip("-n", BRIDGE, "link", "add", f"pod{pod.index}", "type", "veth", "peer", "name", "eth0", "netns", pod.namespace)
    ip("-n", BRIDGE, "link", "set", f"pod{pod.index}", "master", "bridge", "up")
    ip("-n", pod.namespace, "address", "add", f"{pod.address}/16", "dev", "eth0")
    for device in ("lo", "eth0"):
        ip("-n", pod.namespace, "link", "set", device, "up")


def disconnect(pod: Pod) -> None:
    """Ends the pod as if its node lost power: the other pods get no packet about the end of a connection."""
    ip("-n", BRIDGE, "link", "delete", f"pod{pod.index}")
    kill(pod)
    ip("netns", "delete", pod.namespace)


def ip(*arguments: str) -> None:
    """Runs the program ip."""
    subprocess.run(["ip", *arguments], check=True)
