"""What is begun is ended, in reverse, whether the start fails or not."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from gpuc.rehearse.started import Started


class Programs(Started):
    """Three programs, of which one may not start."""

    def __init__(self, broken: str = "") -> None:
        self.broken, self.ended = broken, list[str]()

    def start(self, stack: ExitStack) -> None:
        """Starts one after the other."""
        for name in ("etcd", "API server", "scheduler"):
            if name == self.broken:
                raise RuntimeError(name)
            stack.callback(self.ended.append, name)


def test_programs_end_after_the_block_the_latest_first() -> None:
    with Programs() as programs:
        assert programs.ended == []
    assert programs.ended == ["scheduler", "API server", "etcd"]


def test_a_start_that_fails_ends_what_it_began() -> None:
    programs = Programs("scheduler")
    with pytest.raises(RuntimeError), programs:
        raise AssertionError("the block is not entered")
    assert programs.ended == ["API server", "etcd"]
