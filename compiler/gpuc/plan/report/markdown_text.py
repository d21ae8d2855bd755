"""Text of specs and manifests in Markdown. It is untrusted: it has no effect on GitHub, and looks as it is written.

Sources: https://docs.github.com/en/get-started/writing-on-github (pages "Basic writing and formatting syntax" and
"Autolinked references and URLs"), and cmark-gfm extensions/autolink.c.
"""

from __future__ import annotations

import html
import re

from gpuc.diagnostics.report.terminal import visible

_BLOCK = re.compile(r"^(\d*)(?=[>+.)-])")
"""The start of a text that Markdown reads as a quote or an item of a list."""
_MARKDOWN = re.compile(r"[\\`*\[\]|~$#]|(?<![^\W_])_|_(?![^\W_])")
"""The signs that Markdown reads inside of a line."""
_JOINT = re.compile(
    r"@(?=\w)"  # mentions, mail addresses, and commits of other repositories
    r"|#(?=\d)|(?i:gh)-(?=\d)"  # references to issues
    r"|:(?=//)|www(?=\.)"  # addresses
    r"|(?<![\w:]):(?=[\w+-]+:)",  # emoji, but nothing in the middle of an ARN or a time, which people copy
    re.ASCII,  # for GitHub, a letter with an accent is no part of a name
)
_BREAK = "\u200b"
"""A character without width. Between two characters, it ends what GitHub would make of them."""


def escaped(text: str) -> str:
    """Returns a text that Markdown shows as it is, in one line, without mentions, references, links and emoji."""
    line = _one_line(text).replace("&", "&amp;").replace("<", "&lt;")
    line = _MARKDOWN.sub(r"\\\g<0>", line)
    line = _BLOCK.sub(r"\1\\", line)
    return _JOINT.sub(rf"\g<0>{_BREAK}", line)


def code(text: str) -> str:
    """Returns a text as inline code, in one line."""
    line = _one_line(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def fenced(lines: list[str], language: str = "diff") -> str:
    """Returns lines as a code block that the lines cannot end."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *map(visible, lines), fence])


def html_code(text: str) -> str:
    """Returns a text as an HTML element with code, in one line. GitHub makes no mentions of names in code."""
    return f"<code>{html.escape(_one_line(text)).replace('`', '&#96;')}</code>"


def _one_line(text: str) -> str:
    """Returns the text in one line, with escapes for control characters, also those that change the direction."""
    return visible(" ".join(text.split()))
