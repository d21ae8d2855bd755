"""Prints the results of rehearsals as text, Markdown and JSON.

On a terminal the summary is at the end; in Markdown it is below the title.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from gpuc.diagnostics.report.document import Block, Heading, Span, json_text
from gpuc.diagnostics.report.markdown import page
from gpuc.diagnostics.report.printer import printed
from gpuc.diagnostics.report.terminal import PLAIN, Style


class Report(Struct, frozen=True):
    """How the results of one kind of rehearsal are printed. Each result has `seconds`, the duration of each step."""

    key: str
    """The key of the results in the JSON document."""
    version: int
    """Version of the JSON document; it increases if a key is removed or changes its meaning."""
    title: Callable[[Any], str]
    blocks: Callable[[Any], Iterable[Block]]
    summary: Callable[[Any], str]
    data: Callable[[Any], dict[str, Any]]
    is_good: Callable[[Any], bool] | None = None
    """Whether a result is good; None for results that are neither good nor bad."""

    def render(self, form: str, results: Sequence[Any], style: Style = PLAIN) -> str:
        """Returns the report in a format (text, json or markdown), with a line break at the end.

        Raises:
            KeyError: for an unknown format.
        """
        match form:
            case "text":
                return "\n".join(printed(self._text(result), style) for result in results)
            case "json":  # durations with two decimals
                text = json.dumps([self.data(result) for result in results])
                data = json.loads(text, parse_float=lambda number: round(float(number), 2))
                return json_text({self.key: data}, self.version)
            case "markdown":
                pages = ([Heading(self.title(row)), self.summary(row), *self.blocks(row)] for row in results)
                return "\n".join(map(page, pages))
        raise KeyError(form)

    def _text(self, result: Any) -> list[Block]:
        steps = ", ".join(f"{name} {taken:.1f} s" for name, taken in result.seconds.items())
        verdict: tuple[str | Span, ...] = ()
        if self.is_good is not None:
            verdict = (": ", Span("good", "1;32") if self.is_good(result) else Span("not good", "1;31"))
        return [Heading(self.title(result)), *self.blocks(result), "", steps, (self.summary(result), *verdict)]
