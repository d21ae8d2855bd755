"""The log of Karpenter tells when Karpenter decided about a pod again."""

import json
from pathlib import Path

from tests.conformance.karpenter_failures import KarpenterFailures


def line(second: int, pod: str, error: str) -> str:
    return json.dumps({
        "level": "ERROR", "time": f"2026-11-29T12:00:{second:02}.500Z", "message": "could not schedule pod",
        "Pod": {"name": pod, "namespace": "a"}, "error": error,
    })  # fmt: skip


def test_the_last_failure_of_a_pod_counts(tmp_path: Path) -> None:
    log = tmp_path / "karpenter.log"
    log.write_text(f"{line(1, 'w1', 'first')}\nno JSON\n{line(5, 'w1', 'second')}\n{line(6, 'w2', 'half')[:-9]}")
    failures, noon = KarpenterFailures(log), 1795953600
    failures.read()
    pod, other = ({"metadata": {"name": name, "namespace": "a"}} for name in ("w1", "w2"))
    assert failures.since(pod, noon + 2) == "second"
    assert failures.since(pod, noon + 6) == ""
    assert failures.since(other, noon) == ""
    with log.open("a") as file:
        file.write(f"{line(6, 'w2', 'half')[-9:]}\n")
    failures.read()
    assert failures.since(other, noon) == "half"
