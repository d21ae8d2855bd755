"""Errors about missing programs name them and how to build them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpuc.rehearse.programs import (
    DATA,
    LWS_DATA,
    LWS_NAMES,
    NAMES,
    MissingProgramsError,
    find_lws_programs,
    find_programs,
    tools_folder,
)
from tests.conftest import ROOT


def test_an_empty_folder_misses_all_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    with pytest.raises(MissingProgramsError, match=r"kueue.*`make tools`") as refusal:
        find_programs()
    assert all(name in str(refusal.value) for name in (*NAMES, *DATA))


def test_a_complete_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).touch(mode=0o755)
    for name in DATA:
        (tmp_path / "data" / name).mkdir(parents=True)
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    assert find_programs().path("etcd") == tmp_path / "bin" / "etcd"


def test_the_controller_of_leader_worker_sets_has_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    with pytest.raises(MissingProgramsError, match=r"`make tools-lws`") as refusal:
        find_lws_programs()
    assert all(name in str(refusal.value) for name in (*LWS_NAMES, *LWS_DATA))
    (tmp_path / "lws" / "bin").mkdir(parents=True)
    (tmp_path / "lws" / "bin" / "lws").touch(mode=0o755)
    for name in LWS_DATA:
        (tmp_path / "lws" / "data" / name).mkdir(parents=True)
    assert find_lws_programs().path("lws") == tmp_path / "lws" / "bin" / "lws"


def test_each_part_of_a_checkout_has_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUC_TOOLS", raising=False)
    folders = [tools_folder(part).parent.name for part in ("", "argocd", "lws")]
    assert folders == ["tools", "argocd", "lws"]


def test_the_build_reports_missing_go_in_one_sentence(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    command = [sys.executable, str(ROOT / "tools" / "build.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert "Go is required to build the programs and is not installed" in sentence
