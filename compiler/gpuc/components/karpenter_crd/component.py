"""CRDs of Karpenter. Their own chart installs the CRDs before the controller, and keeps them without the controller."""

from __future__ import annotations

from gpuc.emit.component import CRD, Component
from gpuc.emit.component_facts import ChartLabels

COMPONENT = Component(
    name="karpenter-crd",
    wave=-20,
    keeps_definitions=True,
    chart_cluster_kinds=(CRD,),
    restarts=None,
    hashed_values={},
    chart_labels=ChartLabels(services={}, pods={}),
    device_plugin=None,
    config_maps=(),
)
