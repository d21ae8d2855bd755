"""Checks that the real nodeadm accepts every NodeConfig in the output, together with the NodeConfig of Karpenter.

`make conformance-all` runs this module after `gpuc tools --nodeadm`. The test does not run if nodeadm is missing.
nodeadm does not know the fields of the kubelet's configuration: it reports a wrong type, but no misspelt field of the
kubelet.

Source: awslabs/amazon-eks-ami v20260724 nodeadm/cmd/nodeadm/config/check.go; aws/karpenter-provider-aws v1.14.1
pkg/providers/amifamily/bootstrap/nodeadm.go (Karpenter's NodeConfig is the last part of the user data)
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuc.substrates.eks.karpenter.user_data import user_data
from gpuc_rehearsal.tools.selection import OTHERS
from tests.conformance.check_result import CheckResult, report
from tests.conftest import EXAMPLES, HUB_CLUSTERS, example
from tests.substrates.eks.karpenter.gpu_node import parts

CONTENT_TYPE = "application/node.eks.aws"
KARPENTER = Path(__file__).with_name("node_config.yaml")
"""A NodeConfig as Karpenter writes it."""
MISTAKES = {
    "another API version": ("node.eks.aws/v1alpha1", "node.eks.aws/v9"),
    "a list as the kubelet's configuration": ("    config:\n", "    config: []\n    other:\n"),
    "YAML that does not parse": ("kind: NodeConfig", "kind: [NodeConfig"),
}
"""Replacements in a NodeConfig that nodeadm must refuse."""


def node_configs() -> Iterator[tuple[str, str]]:
    """Yields the NodeConfigs in user data of all example pools, with a name."""
    for name in (*EXAMPLES, *HUB_CLUSTERS):
        cluster = example(name)
        for pool in cluster.pools:
            text = user_data(cluster, pool)
            config = parts(text).get(CONTENT_TYPE) if text.startswith("MIME") else None
            if config:
                yield f"{name} {pool.name}", config


def refusal(program: Path, config: str) -> str:
    """Returns why nodeadm refuses a NodeConfig; the empty string if nodeadm accepts it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "10-pool.yaml").write_text(config)
        Path(folder, "20-karpenter.yaml").write_bytes(KARPENTER.read_bytes())
        command = (str(program), "config", "check", "--config-source", f"file://{folder}")
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return (done.stdout + done.stderr).strip() if done.returncode else ""


def checks(program: Path) -> Iterator[CheckResult]:
    """Yields a result for each NodeConfig, and for each mistake that nodeadm must find."""
    configs = dict(node_configs())
    for name, config in configs.items():
        yield CheckResult(f"nodeadm accepts the NodeConfig of {name}", refusal(program, config))
    config = next(iter(configs.values()))
    for mistake, (old, new) in MISTAKES.items():
        wrong = config.replace(old, new)
        problem = "" if wrong != config and refusal(program, wrong) else "nodeadm accepts it"
        yield CheckResult(f"nodeadm refuses {mistake}", problem)


def main(arguments: Sequence[str]) -> int:
    program = OTHERS["nodeadm"].home() / "bin" / "nodeadm"
    if not program.exists():
        print("not run: NodeConfigs with the real nodeadm: run `gpuc tools --nodeadm`")
        return 0
    return report(checks(program))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
