"""The manual: each page answers a question, is short, and names only pages, files, commands and fields that exist."""

import re
import shlex
from itertools import takewhile
from pathlib import Path

import pytest
import yaml
from jsonschema_rs import validator_for

from gpuc.cli.commands import COMMANDS, declared
from gpuc.cli.parser import Parser
from gpuc.spec.schema import json_schema
from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GENERATED = (DOCS / "reference.md",)
WORDS = 1500
README_WORDS = 1200
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOP = ("benchmarks", "clusters", "compiler", "docs", "examples", "policies", "rehearsal", "specs", "tests")
PLACES = ("specs/catalog/", "specs/<", "clusters/<", "policies/<", "policies/name", "policies/README.md", "specs/base")
"""Paths that the pages use for the repository of a user."""


def name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def prose(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors of the headings, as Markdown programs make them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


@pytest.mark.parametrize("page", [page for page in PAGES if page not in GENERATED], ids=name)
def test_a_page_starts_with_the_question_that_it_answers(page: Path) -> None:
    title, _, question, *_ = page.read_text(encoding="utf-8").split("\n", 4)
    assert title.startswith("# ")
    assert re.fullmatch(r"\*[A-Z].*\?\*", question), question


@pytest.mark.parametrize("page", [page for page in PAGES if page not in GENERATED], ids=name)
def test_a_page_is_short(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").split()) <= WORDS


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= README_WORDS


def test_the_readme_has_the_two_commands_of_a_fresh_machine() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "`make compile`" in text and "`make test`" in text


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.name)
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"https?:", target):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        assert DOCS in found.parents or DOCS not in page.parents, f"{target} is outside of the site"
        assert not anchor or anchor in anchors(found), target


def test_every_page_is_in_the_table_of_contents_and_in_the_site() -> None:
    listed = set(re.findall(r"\]\(([^)\s]+\.md)\)", (DOCS / "index.md").read_text(encoding="utf-8")))
    assert listed == {name(page) for page in PAGES if page.name != "index.md" and page.parent == DOCS} | {
        "decisions/index.md"
    }
    decisions = {page.name for page in PAGES if page.parent.name == "decisions"} - {"index.md"}
    linked = re.findall(r"\]\((\w[\w-]*\.md)", (DOCS / "decisions/index.md").read_text(encoding="utf-8"))
    assert set(linked) == decisions
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page for page in listed if page not in site and not page.startswith("decisions/")] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_every_path_in_a_page_exists(page: Path) -> None:
    for path in re.findall(r"`([\w<>./*-]+/[\w<>./*-]*)`", prose(page)):
        if path.partition("/")[0] in TOP and not path.startswith(PLACES) and "<" not in path and "*" not in path:
            assert (ROOT / path).exists() or (ROOT / "out/prod-use1" / path).exists(), path


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_every_command_in_a_page_is_a_correct_command_line(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    text = page.read_text(encoding="utf-8")
    lines = [line[2:] for kind, block in FENCE.findall(text) if kind == "console" for line in block.splitlines()]
    for line in (line for line in lines if line.startswith("gpuc ")):
        # Only the first program of a pipe or a list is gpuc.
        words = list(takewhile(lambda word: word not in (">", "|", "&&"), shlex.split(line, comments=True)))
        assert words[1] in COMMANDS, line
        if words[2:] and not any(word in ("manifests/", "fleet") for word in words):
            Parser(declared(words[1])).parse(words[2:])


@pytest.mark.parametrize("page", ["spec", "tenants", "queues", "sharing", "operating", "start-small", "ways-out"])
def test_every_part_of_a_spec_has_only_fields_of_the_language(page: str) -> None:
    language = validator_for(json_schema())
    blocks = [block for kind, block in FENCE.findall((DOCS / f"{page}.md").read_text("utf-8")) if kind == "yaml"]
    assert blocks
    for block in blocks:
        part = yaml.safe_load(block)
        extends = {"extends": part.pop("extends")} if "extends" in part else {}
        spec = part.pop("spec", part)
        layer = {"apiVersion": "gpuc.dev/v1alpha1", "kind": "Layer", **extends, "spec": spec}
        assert [error.message for error in language.iter_errors(layer)] == [], block
