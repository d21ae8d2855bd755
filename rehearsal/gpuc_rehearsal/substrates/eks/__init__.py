"""How a rehearsal gets the nodes of clusters on EKS: Karpenter starts simulated nodes."""

from pathlib import Path

from gpuc.documents.reader import load_yaml
from gpuc.substrates.eks.scaling import KEEP_NODE
from gpuc_rehearsal.autoscaler import Autoscaler, Drift
from gpuc_rehearsal.substrates.eks import karpenter
from gpuc_rehearsal.substrates.eks.instance_types import instance_types

AUTOSCALER = Autoscaler(
    name=karpenter.NAME,
    component=karpenter.COMPONENT,
    program=karpenter.PROGRAM,
    pool=karpenter.POOL,
    claim=karpenter.CLAIM,
    ready_label="karpenter.sh/initialized=true",
    keep=KEEP_NODE,
    # Karpenter's and the scheduler's events have the same reason; the start of the message distinguishes them.
    refusal=("FailedScheduling", "Failed to schedule pod"),
    too_large="no instance type has enough resources",
    simulated_class=karpenter.SIMULATED_CLASS,
    sentences=load_yaml(Path(__file__).with_name("sentences.yaml").read_text(encoding="utf-8")),
    start=karpenter.start_program,
    instance_types=instance_types,
    gates=karpenter.gates,
    unsupported_gate=karpenter.unsupported_gate,
    replacements=karpenter.replacements,
    simulated=karpenter.simulated,
    simulated_text=karpenter.simulated_text,
    reconcile=karpenter.reconcile,
    drift=Drift(
        drifted=karpenter.drifted,
        is_stale=karpenter.is_stale,
        await_decisions=karpenter.await_decisions,
        outcomes=karpenter.node_outcomes,
        notes=karpenter.notes,
    ),
)
