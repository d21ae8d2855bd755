"""Karpenter's definitions, in a chart of their own so that they come before the controller and outlive it."""

from __future__ import annotations

from gpuc.emit.component import CRD, Component

COMPONENT = Component(name="karpenter-crd", wave=-20, keeps_definitions=True, cluster_kinds=(CRD,))
