"""Rules about the user data of nodes that a spec sets."""

import re
import tomllib
from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, Found, rule
from gpuc.spec.node_settings import BOUNDARY
from gpuc.substrates.eks.scaling import eks


def pools_with_user_data(cluster: Cluster) -> Iterator[tuple[Path, Pool]]:
    """Yields the pools for whose nodes the spec sets user data, each with the path of this user data in the spec."""
    for pool in cluster.pools:
        if eks(pool).spec.user_data is not None:
            yield (*eks(pool).path, "userData"), pool
        elif pool.own_user_data:
            yield ("spec", "cloud", "aws", "userData"), pool


BOUNDARIES = (BOUNDARY, "//")
"""The boundaries between the parts of the MIME archive: of gpuc, and of Karpenter, which writes the archive again.

Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/amifamily/bootstrap/mime/mime.go
"""


_ENDS = (*(f"--{text}" for text in BOUNDARIES), *(f"{text}-script" for text in BOUNDARIES))
"""Beginnings of lines that end a part of user data, or the file into which gpuc writes the script."""


@rule("KRP145")
def boundary_in_user_data(cluster: Cluster) -> Findings:
    """A line of a script in user data begins like the lines with which gpuc separates the parts of the user data."""
    for path, pool in pools_with_user_data(cluster):
        for number, line in enumerate(pool.own_user_data.splitlines(), 1):
            if pool.image.id != "bottlerocket" and line.startswith(_ENDS):
                message = f"line {number} of the user data of node pool {pool.name} begins with {line[:10]}"
                yield Found(path, f"{message}, which separates parts of user data; expected another line")


_SECRETS = {
    "an AWS access key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "a secret access key": r"(?i)\baws_secret_access_key\b\s*[=:]\s*['\"]?[A-Za-z0-9/+]{40}",
    "a token of GitHub": r"\b(?:ghp|gho|ghs|github_pat)_[A-Za-z0-9_]{20,}",
    "a token of GitLab": r"\bglpat-[A-Za-z0-9_-]{20,}",
}
"""Patterns of secrets, by their names."""


@rule("KRP147")
def secret_in_user_data(cluster: Cluster) -> Findings:
    """User data contains a secret."""
    for path, pool in pools_with_user_data(cluster):
        for name, pattern in _SECRETS.items():
            if match := re.search(pattern, pool.own_user_data):
                number = pool.own_user_data.count("\n", 0, match.start()) + 1
                message = f"line {number} of the user data of node pool {pool.name} contains {name}"
                yield Found(path, f"{message}; expected a command that reads the secret")


_KARPENTER = ("cluster-name", "api-server", "cluster-certificate", "node-labels", "node-taints")
"""Keys of settings.kubernetes that Karpenter replaces.

Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/amifamily/bootstrap/bottlerocket.go
"""
_CAPACITY = ("max-pods", "kube-reserved", "system-reserved", "eviction-hard")
"""Keys of settings.kubernetes that change the capacity of a node, which Karpenter and gpuc compute."""
_HEADER = re.compile(r"(\s*(#[^\n]*)?\n)*\s*\[settings")
"""Comments, and then the header of a table."""


@rule("KRP144")
def user_data_of_other_image(cluster: Cluster) -> Findings:
    """The user data of a node pool does not have the format that the AMI of the node pool reads."""
    for path, pool in pools_with_user_data(cluster):
        if problem := _problem(pool):
            yield Found(path, f"user data of node pool {pool.name} {problem}")


def _problem(pool: Pool) -> str:
    text = pool.own_user_data
    if pool.image.id != "bottlerocket":
        begins = text.startswith("#!/")
        return "" if begins else f"does not begin with #!/; {pool.image.id} AMIs run scripts such as #!/bin/bash"
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return f"is not TOML ({error}); expected settings of Bottlerocket"
    # Without a header, the first line of the text would be part of gpuc's last table.
    settings = parsed.get("settings")
    if parsed.keys() != {"settings"} or not isinstance(settings, dict) or not _HEADER.match(text):
        return "does not begin with a table of settings; expected a first line such as [settings.host-containers.admin]"
    if pool.is_gpu and "kubelet-device-plugins" in settings:
        return "sets settings.kubelet-device-plugins, which gpuc sets; use sharing, or remove the settings"
    kubernetes = settings.get("kubernetes", {})
    if kubernetes and eks(pool).pins_cpus:
        return "sets settings.kubernetes, which gpuc sets for training nodes with exclusive GPUs; remove the settings"
    reasons = dict.fromkeys(_KARPENTER, "which Karpenter replaces; use nodeLabels or taints, or remove it")
    reasons |= dict.fromkeys(_CAPACITY, "but gpuc computes quotas from the default; remove it")
    return next((f"sets settings.kubernetes.{key}, {why}" for key, why in reasons.items() if key in kubernetes), "")
