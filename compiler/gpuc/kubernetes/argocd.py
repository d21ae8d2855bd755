"""Annotations that Argo CD reads on the objects that it applies."""

from __future__ import annotations

WAVE = "argocd.argoproj.io/sync-wave"
OPTIONS = "argocd.argoproj.io/sync-options"
COMPARE = "argocd.argoproj.io/compare-options"
