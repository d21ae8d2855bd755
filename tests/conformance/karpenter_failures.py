"""The pods for which Karpenter can start no node, from the log of Karpenter.

Karpenter decides again about every waiting pod, but its events name the first failure only: an equal event follows
after five minutes.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/scheduler.go (Record), events.go
(PodFailedToScheduleEvent)
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from gpuc_rehearsal.client import Object

_MESSAGE = b'"could not schedule pod"'


@dataclass
class KarpenterFailures:
    """The last failure of each pod."""

    log: Path
    _position: int = 0
    _found: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)

    def read(self) -> None:
        """Reads what Karpenter has written since the last call."""
        with self.log.open("rb") as file:
            file.seek(self._position)
            text = file.read()
        whole = text.rpartition(b"\n")[0]
        self._position += len(whole) + 1 if whole else 0
        for line in whole.splitlines():
            if _MESSAGE in line:
                row = json.loads(line)
                pod = row["Pod"]["namespace"], row["Pod"]["name"]
                self._found[pod] = datetime.fromisoformat(row["time"]).timestamp(), row["error"]

    def since(self, pod: Object, start: float) -> str:
        """Returns the error of the last decision about a pod; empty if there was none after a Unix time in seconds."""
        when, error = self._found.get((pod["metadata"]["namespace"], pod["metadata"]["name"]), (0.0, ""))
        return error if when > start else ""
