"""User data of Ubuntu: a script that joins the cluster, because Karpenter adds nothing for the AMI family Custom."""

from __future__ import annotations

from gpuc.emit.nodes.kubelet import TOPOLOGY_POLICY
from gpuc.emit.nodes.template import render
from gpuc.kubernetes.amounts import CPU, quantity_text
from gpuc.model import Cluster, Pool
from gpuc.model.pool import SYSTEM_CPU_MILLI
from gpuc.spec.node_settings import BOUNDARY

NO_JOIN = "The node does not join the cluster."
"""What the serial console says about a node without a GPU report whose userData failed."""


def ubuntu(cluster: Cluster, pool: Pool) -> str:
    """Returns a shell script that joins the node to the cluster with the taint karpenter.sh/unregistered.

    Karpenter removes the taint when it registers the node, and then sets the labels and taints of the pool. With a
    script of the spec, the result is a MIME archive. The script of the spec is first, because the other script starts
    the kubelet.

    Source: aws/karpenter-provider-aws v1.14.1, concepts/nodeclasses, amiFamily Custom
    """
    arguments = ["--register-with-taints=karpenter.sh/unregistered:NoExecute"]
    if pool.pins_cpus:
        arguments += [
            "--cpu-manager-policy=static",
            f"--topology-manager-policy={TOPOLOGY_POLICY}",
            f"--system-reserved=cpu={quantity_text(CPU, SYSTEM_CPU_MILLI)}",
        ]
    return render(
        "ubuntu.j2",
        own_script=pool.own_user_data,
        pool=pool.name,
        result=NO_JOIN,
        stops_kubelet=False,
        boundary=BOUNDARY,
        eks_cluster=cluster.aws.eks_cluster,
        kubelet_arguments=" ".join(arguments),
    )
