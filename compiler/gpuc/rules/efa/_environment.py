"""Lists the environment variables that the NCCL profiles of a spec set."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster


def profile_variables(cluster: Cluster) -> Iterator[tuple[Path, str, str, str]]:
    """Yields the path, the NCCL profile, the name and the value of every environment variable of an NCCL profile."""
    for name, profile in cluster.spec.nccl.profiles.items():
        for variable, value in profile.env.items():
            yield ("spec", "nccl", "profiles", name, "env", variable), name, variable, value
