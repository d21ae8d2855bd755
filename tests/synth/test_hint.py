"""The guess follows the times of the inputs and of the indexes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compiler.hint import has_news


@pytest.mark.parametrize(
    ("newer", "is_news"),
    [("specs/a.yaml", True), ("specs/base/eks.yaml", True), ("policies/p/policy.yaml", True), ("specs", True),
     ("out/b/gpuc.lock", False), ("README.md", False)],
)  # fmt: skip
def test_an_input_that_is_newer_than_an_index_is_news(tmp_path: Path, newer: str, is_news: bool) -> None:
    assert has_news(str(tmp_path))
    names = ["specs/a.yaml", "specs/base/eks.yaml", "policies/p/policy.yaml", "README.md"]
    for name in [*names, "out/a/gpuc.lock", "out/b/gpuc.lock"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    for path in [tmp_path, *tmp_path.rglob("*")]:
        os.utime(path, (1_000, 1_000))
    assert not has_news(str(tmp_path))
    os.utime(tmp_path / newer, (2_000, 2_000))
    assert has_news(str(tmp_path)) is is_news
