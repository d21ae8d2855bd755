"""What a comment would be on GitHub: its links, images, HTML and mentions, as a CommonMark parser reads it."""

import html
import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

ALLOWED_HTML = re.compile(r"</?(?:details|summary|code)>|<!-- gpuc plan -->")
_ACTIVE = re.compile(r"@[A-Za-z0-9]|#\d|(?<=GH-)\d|\w:(?=//)|\bwww\.", re.IGNORECASE)


def parsed(body: str) -> list[Token]:
    """The blocks of a comment."""
    return MarkdownIt("commonmark", {"html": True}).enable("table").parse(body)


def effects(body: str, run_url: str = "https://github.com/acme/fleet/actions/runs/") -> list[str]:
    """The parts of a comment that have an effect, except links to runs and the HTML of gpuc's reports.

    GitHub looks for mentions, references and addresses in the text after Markdown and entities are resolved.
    """
    tokens = parsed(body)
    flat = [child for token in tokens for child in (token, *(token.children or []))]
    found = [str(token.attrs["href"]) for token in flat if token.type == "link_open"]
    found = [f"link {link}" for link in found if not link.startswith(run_url)]
    found += [f"image {token.attrs['src']}" for token in flat if token.type == "image"]
    for token in flat:
        if token.type in ("html_inline", "html_block"):
            rest = ALLOWED_HTML.sub(" ", token.content)
            found += [f"HTML {rest}"] * bool(re.search(r"<[A-Za-z/!?]", rest))
        if token.type in ("text", "code_inline", "fence", "code_block", "html_block"):
            found += [f"text {match[0]}" for match in _ACTIVE.finditer(html.unescape(token.content))]
        if token.type == "fence" and token.info.strip() not in ("", "diff"):
            found += [f"drawing {token.info}"] * token.info.strip()[0].isalpha()
    return found
