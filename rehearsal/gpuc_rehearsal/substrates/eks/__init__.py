"""Clusters on EKS in a rehearsal: Karpenter with a simulated provider."""

from __future__ import annotations

from pathlib import Path

from gpuc.documents.reader import load_yaml
from gpuc.substrates.eks.scaling import KEEP_NODE
from gpuc_rehearsal.autoscaler import Autoscaler, Drift
from gpuc_rehearsal.substrates.eks import drift, provider
from gpuc_rehearsal.substrates.eks.instance_types import instance_types
from gpuc_rehearsal.substrates.eks.karpenter import PROGRAM, start_program

AUTOSCALER = Autoscaler(
    name=drift.NAME,
    component=provider.COMPONENT,
    program=PROGRAM,
    pool=provider.POOL,
    claim=provider.CLAIM,
    ready_label="karpenter.sh/initialized=true",
    keep=KEEP_NODE,
    # Karpenter's and the scheduler's events have the same reason; the start of the message distinguishes them.
    refusal=("FailedScheduling", "Failed to schedule pod"),
    too_large="no instance type has enough resources",
    simulated_class=provider.SIMULATED_CLASS,
    sentences=load_yaml(Path(__file__).with_name("sentences.yaml").read_text(encoding="utf-8")),
    start=start_program,
    instance_types=instance_types,
    gates=provider.gates,
    unsupported_gate=provider.unsupported_gate,
    replacements=provider.replacements,
    simulated=provider.simulated,
    simulated_text=provider.simulated_text,
    reconcile=provider.reconcile,
    drift=Drift(
        drifted=drift.drifted,
        is_stale=drift.is_stale,
        await_decisions=drift.await_decisions,
        outcomes=drift.node_outcomes,
        notes=drift.notes,
    ),
)
