"""Programs are stopped in reverse order, even if the start fails."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from gpuc_rehearsal.process import Started


class Programs(Started):
    """Three programs; one of them may fail to start."""

    def __init__(self, broken: str = "") -> None:
        self.broken, self.ended = broken, list[str]()

    def start(self, stack: ExitStack) -> None:
        """Starts the programs."""
        for name in ("etcd", "API server", "scheduler"):
            if name == self.broken:
                raise RuntimeError(name)
            stack.callback(self.ended.append, name)


def test_programs_stop_in_reverse_order_after_the_block() -> None:
    with Programs() as programs:
        assert programs.ended == []
    assert programs.ended == ["scheduler", "API server", "etcd"]


def test_a_failed_start_stops_the_started_programs() -> None:
    programs = Programs("scheduler")
    with pytest.raises(RuntimeError), programs:
        raise AssertionError("the block is not entered")
    assert programs.ended == ["API server", "etcd"]
