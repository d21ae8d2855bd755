"""Keys of the annotations that Argo CD reads from objects."""

from __future__ import annotations

WAVE = "argocd.argoproj.io/sync-wave"
OPTIONS = "argocd.argoproj.io/sync-options"
COMPARE = "argocd.argoproj.io/compare-options"
