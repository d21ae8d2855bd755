"""A part of the clusters of a fleet, so that several CI jobs compile the fleet together."""

import re

from msgspec import Struct

_shard = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})").fullmatch


class Shard(Struct, frozen=True):
    """Every `number`-th cluster of a command, from the one at `index`, which counts from 1."""

    index: int = 1
    number: int = 1

    def has(self, position: int) -> bool:
        """Returns whether the cluster at a position, which counts from 0, is in the shard."""
        return position % self.number == self.index - 1


WHOLE = Shard()


def shard_of(text: str) -> Shard:
    """Returns the shard of a text such as "2/4".

    Raises:
        ValueError: when the text is no shard.
    """
    match = _shard(text)
    shard = Shard(int(match[1]), int(match[2])) if match else None
    if shard is None or shard.index > shard.number:
        raise ValueError(f"the shard is {text}; expected I/N with whole numbers from 1/N to N/N, for example 1/4")
    return shard
