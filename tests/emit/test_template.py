"""Tests of the templates of texts."""

from pathlib import Path

import pytest

from gpuc.emit import template
from gpuc.emit.template import render, render_text


def test_a_line_with_only_a_statement_leaves_no_line() -> None:
    text = "{# a list #}\n{% for name in names %}\n  {% if name %}\n- {{ name }}{% else %}\n- none{% endif %};\n"
    assert (
        render_text(text + "{% endfor %}\n{% set rest = len(names) %}\n{{ rest }}\n", names=["a", ""])
        == "- a;\n- none;\n2\n"
    )


def test_a_name_without_a_value_is_an_error() -> None:
    with pytest.raises(NameError, match="unknown"):
        render_text("{{ unknown }}")


def test_a_template_replaces_blocks_and_includes_templates(tmp_path: Path) -> None:
    includes = '{% include "part" %}{% include "no" ignore missing %}'
    for name, text in {
        "page": "{% block top %}no top{% endblock %}, {% block end %}the end{% endblock %}",
        "part": "{{ word }}",
        "text": '{% extends "page" %}\n{% block top %}\n' + includes + "{% endblock %}",
    }.items():
        (tmp_path / name).write_text(text)
    assert render(tmp_path, "text", word="top") == "top, the end"


@pytest.mark.parametrize("content", [b"", b"nonsense", None])
def test_a_damaged_cache_and_a_changed_template_are_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for text in ("first", "second"):
        (tmp_path / "text").write_text(text)
        assert render(tmp_path, "text") == text
        template._compiled.cache_clear()
        for cached in (tmp_path / "cache").rglob("*"):
            if cached.is_file() and content is not None:
                cached.write_bytes(cached.read_bytes()[:32] + content)
        assert render(tmp_path, "text") == text
        template._compiled.cache_clear()
