"""Checks the site that `make docs` builds: it loads nothing from another host. `make docs` runs this module."""

import sys
from html.parser import HTMLParser
from pathlib import Path


class _Loads(HTMLParser):
    """Collects the addresses that a browser loads with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        loads = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
        address = names.get(loads.get(tag, ""))
        if address and (tag != "link" or names.get("rel") != "canonical"):
            self.addresses.append(address)


def foreign(site: Path) -> list[tuple[str, str]]:
    """Returns page and address of everything that pages and style sheets load from another host."""
    found = []
    for page in sorted(site.rglob("*.html")):
        parser = _Loads()
        parser.feed(page.read_text(encoding="utf-8"))
        found += [(page.name, address) for address in parser.addresses if "//" in address]
    for sheet in sorted(site.rglob("*.css")):
        text = sheet.read_text(encoding="utf-8")
        found += [(sheet.name, part[:60]) for part in text.split("url(")[1:] if part.lstrip("'\"").startswith("http")]
    return found


if __name__ == "__main__":
    pages = len(list(Path(sys.argv[1]).rglob("*.html")))
    if not pages or (wrong := foreign(Path(sys.argv[1]))):
        sys.exit(f"the site loads from other hosts: {wrong}" if pages else "the site has no pages")
    print(f"{pages} pages; nothing is loaded from another host")
