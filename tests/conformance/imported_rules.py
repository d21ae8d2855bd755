"""Compares `gpuc lint --crds` with a real API server: verdicts, paths and messages for objects of imported kinds."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from gpuc.diagnostics.finding import Path as FieldPath
from gpuc.documents.reader import read
from gpuc.lint.crds.cel_rules import BROKEN_RULE
from gpuc.lint.crds.schemas import crd_findings
from gpuc.lint.crds.tables import imported_tables
from gpuc.lint.load.files import files_below
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.objects.object_finding import ObjectFinding
from gpuc_rehearsal.client import ApiError, Client
from gpuc_rehearsal.programs import Programs
from tests.conformance.bare_api_server import CRD, READY_SECONDS, bare_plane, dry_run, install, wait_established
from tests.conformance.check_result import CheckResult
from tests.lint.definitions import GROUP, definition, fields
from tests.lint.rule_cases import CASES
from tests.lint.rule_objects import Maker, Spot, spots

Object = dict[str, Any]
COUNT, LONG_COUNT = 2, 6
"""Number of objects that are made for a rule, in `make conformance` and in `make conformance-all`."""
_MAX_REPORTED = 8
"""Maximal number of reported disagreements."""
_EVALUATING = (" evaluating rule: ", " for rule: ")


@dataclass
class Comparison:
    """The result of a comparison."""

    objects: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    """Findings that only lint reports, and errors that only the API server reports."""

    def note(self) -> str:
        """The numbers in one line."""
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        return f"{self.objects} objects: {counts}"


def checks(
    programs: Programs, crds: Path | None, folder: Path, count: int = COUNT, seed: int = 1
) -> Iterator[CheckResult]:
    """Installs CRDs in an API server and compares: the small CRDs of the unit tests, and upstream's CRDs.

    Args:
        crds: folder of upstream's CRDs; None if the reference data is missing.
        folder: an empty folder for the imported schemas.
        count: number of objects that are made for a rule of upstream's CRDs.
    """
    with bare_plane(programs) as (_, client):
        small = {
            f"Case{number}": definition(fields({"it": case.schema}), f"Case{number}")
            for number, case in enumerate(CASES)
        }
        refused = _installed(client, small, folder / "cases")
        yield CheckResult(
            "lint and the API server evaluate the rules of small CRDs alike",
            "; ".join(refused) or _case_differences(client, folder / "cases"),
            f"{len(CASES)} rules",
        )
        if crds is None:
            return
        refused = _installed(client, _definitions(crds), folder / "upstream")
        comparison = compared(client, folder / "upstream", count, seed)
        problem = "; ".join([*refused, *comparison.differences][:_MAX_REPORTED])
        yield CheckResult(
            "lint and the API server evaluate the rules of upstream's CRDs alike", problem, comparison.note()
        )
        is_detected = _detects_other_rules(client, folder / "upstream", folder / "wrong")
        problem = "" if is_detected else "the comparison found no difference although lint had other rules"
        yield CheckResult("the comparison with the API server detects other rules", problem)


def _case_differences(client: Client, tables: Path) -> str:
    """Values of the small CRDs for which the API server differs from the test case or from lint."""
    differences = []
    for number, case in enumerate(CASES):
        expected = [(value, True) for value in case.good] + [(value, False) for value in case.bad] + list(case.unsure)
        for value, is_accepted in expected:
            metadata = {"name": "w", "namespace": "default"}
            document = {"apiVersion": f"{GROUP}/v1", "kind": f"Case{number}", "metadata": metadata, "it": value}
            comparison = Comparison()
            code, causes = _verdict(client, document)
            _compare(client, tables, document, comparison)
            if (code < 300) != is_accepted:
                messages = [cause["message"] for cause in causes]
                differences.append(f"{case.name}: the API server answers {code} for {value}: {messages}")
            differences += [f"{case.name}: {difference}" for difference in comparison.differences]
    return "; ".join(differences)


def _detects_other_rules(client: Client, tables: Path, folder: Path) -> bool:
    """Returns whether the comparison detects that lint uses other rules than the API server."""
    table = max(sorted(tables.rglob("*.json")), key=lambda path: path.read_text(encoding="utf-8").count('"rule":"'))
    other = folder / table.relative_to(tables)
    other.parent.mkdir(parents=True)
    changed = re.sub(r'"rule":"(?:[^"\\]|\\.)*"', '"rule":"true"', table.read_text(encoding="utf-8"))
    other.write_text(changed, encoding="utf-8")
    comparison = Comparison()
    kind, _, version = table.stem.rpartition("_")
    read_table = json.loads(table.read_text(encoding="utf-8"))
    maker = Maker(read_table["schema"], 1)
    for spot in spots(read_table["rules"]):
        document = _document(f"{table.parent.name}/{version}", kind, maker, spot, read_table["namespaced"])
        _compare(client, folder, document, comparison)
    return bool(comparison.differences)


def compared(client: Client, tables: Path, count: int, seed: int) -> Comparison:
    """Compares objects of every schema with rules; the API server receives them as dry runs."""
    comparison = Comparison()
    for path in sorted(tables.rglob("*.json")):
        table = json.loads(path.read_text(encoding="utf-8"))
        kind, _, version = path.stem.rpartition("_")
        maker = Maker(table["schema"], seed)
        for spot in spots(table.get("rules", {})):
            for _ in range(count):
                document = _document(f"{path.parent.name}/{version}", kind, maker, spot, table["namespaced"])
                _compare(client, tables, document, comparison)
    return comparison


def _document(api: str, kind: str, maker: Maker, spot: Spot, namespaced: bool) -> Object:
    metadata = {"name": maker.name(spot)} | ({"namespace": "default"} if namespaced else {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **maker.body(spot)}


def _compare(client: Client, tables: Path, document: Object, comparison: Comparison) -> None:
    reading, unchecked = LoadedFiles(), Counter[str]()
    reading.add("object.yaml", json.dumps(document))
    findings = list(crd_findings(tables, reading.manifests, unchecked))
    code, causes = _verdict(client, document)
    comparison.objects += 1
    schema_only = [finding for finding in findings if finding.rule is not BROKEN_RULE]
    if code < 300:
        comparison.counts["accepted by both" if not findings else "accepted by the API server only"] += 1
        if findings:
            messages = [finding.message for finding in findings]
            comparison.differences.append(_described("only lint reports findings", document, messages))
    elif schema_only:
        comparison.counts["refused by both because of the schema"] += 1
    else:
        _match(document, findings, causes, unchecked, comparison)


def _match(
    document: Object,
    findings: list[ObjectFinding],
    causes: list[Object],
    unchecked: Counter[str],
    comparison: Comparison,
) -> None:
    """Compares the violated rules of an object that both refuse."""
    server_only, lint_only = list(causes), []
    for finding in findings:
        same = next((cause for cause in server_only if _is_same(finding, cause)), None)
        if same is None:
            lint_only.append(finding.message)
        else:
            server_only.remove(same)
    if unchecked:
        comparison.counts["not evaluated by lint"] += 1
    elif lint_only or server_only:
        comparison.counts["refused for different reasons"] += 1
        server = [f"{cause.get('field')}: {cause['message']}" for cause in server_only]
        messages = ["lint:", *lint_only, "API server:", *server]
        comparison.differences.append(_described("lint and the API server report different rules", document, messages))
    else:
        comparison.counts["refused by both"] += 1
        comparison.counts["violated rules reported by both"] += len(findings)


def _is_same(finding: ObjectFinding, cause: Object) -> bool:
    if _field(finding.path) != str(cause.get("field", "")).replace("[", ".").replace("]", ""):
        return False
    message = str(cause["message"])
    for words in _EVALUATING:
        if words in message:
            return finding.message.startswith(message.rpartition(words)[2])
    return message.endswith(finding.message)


def _field(path: FieldPath) -> str:
    return ".".join(map(str, path)) or "<nil>"


def _verdict(client: Client, document: Object) -> tuple[int, list[Object]]:
    """The status code of a dry-run creation, and the causes of the error."""
    answer = dry_run(client, document)
    if isinstance(answer, ApiError):
        return answer.code, list(answer.causes) or [{"message": answer.message, "field": ""}]
    return HTTPStatus.CREATED, []


def _described(difference: str, document: Object, messages: list[str]) -> str:
    return f"{difference}: {json.dumps(document)[:1500]} -> {' | '.join(messages)[:1500]}"


def _definitions(crds: Path) -> dict[str, Object]:
    """Every CRD with a CEL rule, by name; without conversion, which needs a webhook that is not running."""
    definitions: dict[str, Object] = {}
    for file in files_below(str(crds)):
        text = Path(file).read_text(encoding="utf-8-sig")
        for _, document in read(text, file).documents:
            if isinstance(document, dict) and document.get("kind") == CRD[1]:
                document["spec"].pop("conversion", None)
                document.pop("status", None)
                if any(table.rules for table in imported_tables(document)):
                    definitions[document["metadata"]["name"]] = document
    return definitions


def _installed(client: Client, definitions: Mapping[str, Object], tables: Path) -> list[str]:
    """Installs CRDs in the API server and imports them for lint; returns the errors of the API server."""
    accepted, refused = [], []
    for name, document in definitions.items():
        try:
            install(client, document)
        except ApiError as error:
            refused.append(f"{name}: {error}")
            continue
        accepted.append(document)
        for table in imported_tables(document):
            path = tables / table.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(table.text, encoding="utf-8")
    _wait_served(client, accepted)
    return refused


def _wait_served(client: Client, definitions: list[Object]) -> None:
    wait_established(client)
    deadline = time.monotonic() + READY_SECONDS
    for document in definitions:
        spec = document["spec"]
        served = [f"{spec['group']}/{version['name']}" for version in spec["versions"] if version.get("served")]
        while not all(client.serves(api, spec["names"]["kind"]) for api in served):
            assert time.monotonic() < deadline, f"{document['metadata']['name']} is not served"
            time.sleep(0.2)
