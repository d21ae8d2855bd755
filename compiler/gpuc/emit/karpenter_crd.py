"""CRDs of Karpenter. They have their own chart, so that they are installed before the controller and stay after it."""

from __future__ import annotations

from gpuc.emit.component import CRD, Component

COMPONENT = Component(name="karpenter-crd", wave=-20, keeps_definitions=True, cluster_kinds=(CRD,))
