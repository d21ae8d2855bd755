"""A small fleet with one cluster, dev-use1, whose tenants are research and search."""

from functools import cache
from pathlib import Path

from gpuc.cli.init import fleet_files
from gpuc.cli.init_settings import Settings
from gpuc.diagnostics.finding import Finding
from gpuc.diagnostics.report.result import Report
from gpuc.pipeline.pipeline import check_specs, compile_specs
from gpuc.spec.platform import OWN_SERVER

SPEC = "specs/dev-use1.yaml"
FOLDER = "specs/dev-use1/manifests"
SEARCH = """\
    search:
      members: {groups: ["oidc:search"], role: edit}
      costCentre: CC-2
      isolation: network
      namespaces:
        search: {podSecurity: baseline}
        search-lab: {podSecurity: baseline}

  policies:"""


@cache
def _files() -> dict[str, str]:
    return fleet_files(Settings(server=OWN_SERVER))


def write_fleet(root: Path) -> Path:
    """Writes the specs below the folder, and returns the folder."""
    for file, text in _files().items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    spec = root / SPEC
    text = spec.read_text().replace("  policies:", SEARCH, 1)
    spec.write_text(text.replace("tenants: [research]", "tenants: [research, search]"))
    return root


def write_manifest(root: Path, name: str, text: str) -> None:
    """Writes a file below the folder of manifests."""
    path = root / FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def checked(root: Path) -> tuple[Finding, ...]:
    """The findings of `gpuc check`. A bug of gpuc fails the test."""
    outcome = check_specs(root, None, root, False, lambda step: None)
    assert outcome.failures == ()
    return outcome.findings


def compiled(root: Path) -> Report:
    """The result of `gpuc compile`, which must have no error."""
    outcome = compile_specs(root, None, root, lambda step: None)
    assert outcome.failures == () and not any(finding.is_error for finding in outcome.findings), outcome.findings
    return outcome


def places(findings: tuple[Finding, ...]) -> list[str]:
    """Rule id, file below the folder of manifests, and line of each finding, sorted."""
    marks = [(finding.id, finding.mark) for finding in findings]
    return sorted(f"{id_} {mark.file.removeprefix(f'{FOLDER}/')}:{mark.line}" for id_, mark in marks if mark)
