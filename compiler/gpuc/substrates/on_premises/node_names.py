"""Names of nodes, and ranges of names such as gpu-a[01-08]."""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from gpuc.spec.form import Form, text_error

MOST_NAMES = 1000
"""The largest number of names that one range can have."""
_RANGE = re.compile(r"\[([0-9]+)-([0-9]+)\]")
_NAME = r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?"
_SAME_DIGITS = "a range with as many digits on both sides, such as [08-12] (or two ranges, such as [8-9] and [10-12])"


def _checked(text: str) -> str:
    """Returns a name or a range of names.

    Raises:
        PydanticCustomError: when a range goes backwards, has numbers of different widths, or has too many names.
    """
    count = 1
    for first, last in _RANGE.findall(text):
        if len(first) != len(last):
            padded = text.replace(f"[{first}-", f"[{first.zfill(len(last))}-", 1) if last.startswith("0") else ""
            raise text_error(_SAME_DIGITS, padded)
        if int(last) < int(first):
            turned = text.replace(f"{first}-{last}", f"{last}-{first}", 1)
            raise text_error("a range with the smaller number first", turned)
        count *= int(last) - int(first) + 1
    if count > MOST_NAMES:
        raise text_error(f"at most {MOST_NAMES} names", actual=f"{text} with {count} names")
    return text


NodeName = Annotated[
    str,
    Form(f"^{_NAME}$", "the name of a Node: lower-case letters, digits, hyphens and dots", str.lower),
    Field(max_length=253),
]
"""The name of a Node object, for example gpu-a01."""

NodeNames = Annotated[
    str,
    Form(
        r"^[a-z0-9](?:[a-z0-9.-]|\[[0-9]{1,6}-[0-9]{1,6}\])*(?<![.-])$",
        "the name of a Node such as gpu-a01, or a range such as gpu-a[01-08]",
        str.lower,
    ),
    AfterValidator(_checked),
    Field(max_length=253),
]
"""The name of a Node object, or a range of names: gpu-a[01-08] means gpu-a01 to gpu-a08."""


def expanded(text: str) -> Iterator[str]:
    """Yields the names in a range, in order: gpu-a1 and gpu-a2 for "gpu-a[1-2]". Yields "gpu-b" for "gpu-b"."""
    match = _RANGE.search(text)
    if match is None:
        yield text
        return
    for number in range(int(match[1]), int(match[2]) + 1):
        yield from expanded(f"{text[: match.start()]}{number:0{len(match[1])}}{text[match.end() :]}")


def all_names(texts: Iterable[str]) -> dict[str, int]:
    """Returns, for each node name in a list of names and ranges, the index of the first entry that has the name."""
    found: dict[str, int] = {}
    for index, text in enumerate(texts):
        for name in expanded(text):
            found.setdefault(name, index)
    return found
