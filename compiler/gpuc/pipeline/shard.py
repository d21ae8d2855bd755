"""Divides the clusters of a fleet between several CI jobs."""

import re

from msgspec import Struct

_shard = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})").fullmatch


class Shard(Struct, frozen=True):
    """The clusters that one of several CI jobs compiles: with number 4 and index 1, the clusters 1, 5, 9 and so on."""

    index: int = 1
    number: int = 1

    def has(self, position: int) -> bool:
        """Returns whether this job compiles the cluster at a position in the list. Positions begin at 0."""
        return position % self.number == self.index - 1


WHOLE = Shard()


def shard_of(text: str) -> Shard:
    """Parses a text such as "2/4", the second of four CI jobs.

    Raises:
        ValueError: when the text does not have this form.
    """
    match = _shard(text)
    shard = Shard(int(match[1]), int(match[2])) if match else None
    if shard is None or shard.index > shard.number:
        raise ValueError(f"the shard is {text}; expected I/N with whole numbers from 1/N to N/N, for example 1/4")
    return shard
