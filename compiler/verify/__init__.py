"""Evaluators of what was emitted; they share no code with the emitters and read manifests only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.finding import Finding
from compiler.manifest import Artifact, Manifest, Values


def verify(artifacts: Sequence[Artifact], kubernetes: str, releases: Mapping[str, Any]) -> list[Finding]:
    """What is wrong with the emitted objects and values of one cluster."""
    from compiler.verify.schema import verify_schemas
    from compiler.verify.values import verify_values

    manifests = [artifact for artifact in artifacts if isinstance(artifact, Manifest)]
    values = [artifact for artifact in artifacts if isinstance(artifact, Values)]
    return verify_schemas(manifests, kubernetes) + verify_values(values, releases)
