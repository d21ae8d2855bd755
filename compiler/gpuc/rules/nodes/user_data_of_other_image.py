from __future__ import annotations

import re
import tomllib

from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._user_data import pools_with_user_data

_KARPENTER = ("cluster-name", "api-server", "cluster-certificate", "node-labels", "node-taints")
"""Keys of settings.kubernetes that Karpenter replaces.

Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/amifamily/bootstrap/bottlerocket.go
"""
_CAPACITY = ("max-pods", "kube-reserved", "system-reserved", "eviction-hard")
"""Keys of settings.kubernetes that change the capacity of a node, which Karpenter and gpuc compute."""
_HEADER = re.compile(r"(\s*(#[^\n]*)?\n)*\s*\[settings")
"""Comments, and then the header of a table."""


@rule("KRP144", source="canonical/cloud-init 24.1 doc/rtd/explanation/format.rst; bottlerocket-os docs, settings")
def user_data_of_other_image(cluster: Cluster) -> Findings:
    """User data does not have the format that the AMI of the node pool reads.

    cloud-init runs only scripts whose first line names an interpreter. Bottlerocket runs no scripts, and reads settings
    in TOML. Karpenter starts no Bottlerocket node whose settings have a syntax error, and replaces settings of its own.
    """
    for path, pool in pools_with_user_data(cluster):
        if problem := _problem(pool):
            yield path, f"user data of node pool {pool.name} {problem}"


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
    if kubernetes and pool.pins_cpus:
        return "sets settings.kubernetes, which gpuc sets for training nodes with exclusive GPUs; remove the settings"
    reasons = dict.fromkeys(_KARPENTER, "which Karpenter replaces; use nodeLabels or taints, or remove it")
    reasons |= dict.fromkeys(_CAPACITY, "but gpuc computes quotas from the default; remove it")
    return next((f"sets settings.kubernetes.{key}, {why}" for key, why in reasons.items() if key in kubernetes), "")
