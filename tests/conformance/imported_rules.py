"""A real API server beside `gpuc lint --crds`: the same verdict, place and message on objects of imported kinds."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuc.diagnostics.finding import Path as Place
from gpuc.lint.crds.cel_rules import BROKEN_RULE
from gpuc.lint.crds.schemas import crd_findings
from gpuc.lint.crds.tables import imported_tables
from gpuc.lint.load.files import files_below
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.lint.load.yaml_text import read
from gpuc.objects.object_finding import ObjectFinding
from gpuc.rehearse.client import ApiError, Client, holds
from gpuc.rehearse.plane.etcd import start_etcd
from gpuc.rehearse.plane.kubernetes import start_api_server
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.process import stop
from gpuc.rehearse.programs import Programs, cache_root
from gpuc.rehearse.run_folder import run_folder
from tests.conformance.outcome import Check
from tests.lint.definitions import GROUP, definition, fields
from tests.lint.rule_cases import CASES
from tests.lint.rule_objects import Maker, Spot, spots

Object = dict[str, Any]
COUNT = 6
"""Objects around each rule."""
READY_SECONDS = 120
_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_TOLD = 8
"""So many disagreements are told."""
_EVALUATING = " evaluating rule: "


@dataclass
class Tally:
    """What a comparison came to."""

    objects: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """Findings that the server does not share, and refusals of which lint says nothing."""

    def note(self) -> str:
        """The numbers in one line."""
        told = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        return f"{self.objects} objects: {told}"


def checks(programs: Programs, crds: Path | None, folder: Path, count: int = COUNT, seed: int = 1) -> Iterator[Check]:
    """Definitions on an API server of their own: small ones of ours, and upstream's where the reference data is.

    Args:
        crds: folder of upstream's definitions.
        folder: an empty one, for tables.
        count: objects that are made around each of upstream's rules.
    """
    with _api_server(programs) as client:
        made = {
            f"Case{number}": definition(fields({"it": case.schema}), f"Case{number}")
            for number, case in enumerate(CASES)
        }
        refused = _installed(client, made, folder / "cases")
        yield Check(
            "API server and small rules", "; ".join(refused) or _cases(client, folder / "cases"), f"{len(CASES)} rules"
        )
        if crds is None:
            return
        refused = _installed(client, _definitions(crds), folder / "upstream")
        tally = compared(client, folder / "upstream", count, seed)
        problem = "; ".join([*refused, *tally.wrong][:_TOLD])
        yield Check("API server and imported rules", problem, tally.note())
        missed = (
            "" if _misjudged(client, folder / "upstream", folder / "wrong") else "other rules gave the same verdicts"
        )
        yield Check("API server and rules that are not its own", missed, "it has to disagree")


def _cases(client: Client, tables: Path) -> str:
    """Where the server says something else of a case's values than the case, or than lint."""
    wrong = []
    for number, case in enumerate(CASES):
        expected = [(value, True) for value in case.good] + [(value, False) for value in case.bad] + list(case.unsure)
        for value, is_taken in expected:
            metadata = {"name": "w", "namespace": "default"}
            document = {"apiVersion": f"{GROUP}/v1", "kind": f"Case{number}", "metadata": metadata, "it": value}
            tally = Tally()
            code, causes = _verdict(client, document)
            _compare(client, tables, document, tally)
            if (code < 300) != is_taken:
                wrong.append(f"{case.name}: {value} gets {code} {[each['message'] for each in causes]}")
            wrong += [f"{case.name}: {each}" for each in tally.wrong]
    return "; ".join(wrong)


def _misjudged(client: Client, tables: Path, folder: Path) -> bool:
    """Whether the comparison sees that a table has other rules than the server."""
    table = max(sorted(tables.rglob("*.json")), key=lambda path: path.read_text(encoding="utf-8").count('"rule":"'))
    other = folder / table.relative_to(tables)
    other.parent.mkdir(parents=True)
    changed = re.sub(r'"rule":"(?:[^"\\]|\\.)*"', '"rule":"true"', table.read_text(encoding="utf-8"))
    other.write_text(changed, encoding="utf-8")
    tally = Tally()
    kind, _, version = table.stem.rpartition("_")
    read_table = json.loads(table.read_text(encoding="utf-8"))
    maker = Maker(read_table["schema"], 1)
    for spot in spots(read_table["rules"]):
        document = _document(f"{table.parent.name}/{version}", kind, maker, spot, read_table["namespaced"])
        _compare(client, folder, document, tally)
    return bool(tally.wrong)


def compared(client: Client, tables: Path, count: int, seed: int) -> Tally:
    """Objects of every table that has rules, created on the server without being kept."""
    tally = Tally()
    for path in sorted(tables.rglob("*.json")):
        table = json.loads(path.read_text(encoding="utf-8"))
        kind, _, version = path.stem.rpartition("_")
        maker = Maker(table["schema"], seed)
        for spot in spots(table.get("rules", {})):
            for _ in range(count):
                document = _document(f"{path.parent.name}/{version}", kind, maker, spot, table["namespaced"])
                _compare(client, tables, document, tally)
    return tally


def _document(api: str, kind: str, maker: Maker, spot: Spot, namespaced: bool) -> Object:
    metadata = {"name": maker.name(spot)} | ({"namespace": "default"} if namespaced else {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **maker.body(spot)}


def _compare(client: Client, tables: Path, document: Object, tally: Tally) -> None:
    reading, unjudged = LoadedFiles(), Counter[str]()
    reading.add("object.yaml", json.dumps(document))
    findings = list(crd_findings(tables, reading.manifests, unjudged))
    code, causes = _verdict(client, document)
    tally.objects += 1
    others = [each for each in findings if each.rule is not BROKEN_RULE]
    if code < 300:
        tally.counts["taken alike" if not findings else "found, and taken by the server"] += 1
        tally.wrong += [_told("the server takes it", document, [each.message for each in findings])] if findings else []
    elif others:
        tally.counts["refused alike by their schema"] += 1
    else:
        _match(document, findings, causes, unjudged, tally)


def _match(
    document: Object, findings: list[ObjectFinding], causes: list[Object], unjudged: Counter[str], tally: Tally
) -> None:
    """Compares rule for rule what both refuse; causes that no rule explains are refusals by something else."""
    left, lacking = list(causes), []
    for finding in findings:
        same = next((each for each in left if _is_same(finding, each)), None)
        if same is None:
            lacking.append(finding.message)
        else:
            left.remove(same)
    if unjudged:
        tally.counts["not judged"] += 1
    elif lacking or left:
        tally.counts["refused for different reasons"] += 1
        server = [f"{each.get('field')}: {each['message']}" for each in left]
        tally.wrong.append(_told("different reasons", document, [*lacking, "server:", *server]))
    else:
        tally.counts["refused alike"] += 1
        tally.counts["rules refused alike"] += len(findings)


def _is_same(finding: ObjectFinding, cause: Object) -> bool:
    if _field(finding.path) != str(cause.get("field", "")).replace("[", ".").replace("]", ""):
        return False
    message = str(cause["message"])
    if _EVALUATING in message:
        return finding.message.startswith(message.rpartition(_EVALUATING)[2])
    return message.endswith(finding.message)


def _field(path: Place) -> str:
    return ".".join(map(str, path)) or "<nil>"


def _verdict(client: Client, document: Object) -> tuple[int, list[Object]]:
    """The status of a creation that is not kept, and every cause of a refusal."""
    path = client.path(document["apiVersion"], document["kind"], document["metadata"].get("namespace", ""))
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    address = f"{path}?dryRun=All&fieldValidation=Strict"
    code, answer = client._exchange("POST", address, json.dumps(document).encode(), headers)
    if code < 300:
        return code, []
    told = json.loads(answer)
    return code, told.get("details", {}).get("causes") or [{"message": told.get("message", ""), "field": ""}]


def _told(what: str, document: Object, messages: list[str]) -> str:
    return f"{what}: {json.dumps(document)[:1500]} -> {' | '.join(messages)[:1500]}"


def _definitions(crds: Path) -> dict[str, Object]:
    """Every definition with a rule by its name; without conversion, which needs a webhook that is not there."""
    found: dict[str, Object] = {}
    for file in files_below(str(crds)):
        text = Path(file).read_text(encoding="utf-8-sig")
        for _, document in read(text, file).documents:
            if isinstance(document, dict) and document.get("kind") == _CRD[1]:
                document["spec"].pop("conversion", None)
                document.pop("status", None)
                if any(table.rules for table in imported_tables(document)):
                    found[document["metadata"]["name"]] = document
    return found


@contextmanager
def _api_server(programs: Programs) -> Iterator[Client]:
    """etcd and an API server, nothing else: no webhook says anything."""
    with run_folder(cache_root() / "rehearse") as folder:
        site = Site(programs, folder)
        try:
            etcd, url = start_etcd(site)
            etcd.wait_ready(READY_SECONDS)
            start_api_server(site, url).wait_ready(READY_SECONDS)
            client = Client(site.url, site.authority.file, site.admin)
            client.wait_for("v1", "Namespace", "default", lambda _: True, READY_SECONDS)
            yield client
        finally:
            stop(reversed(site.processes))


def _installed(client: Client, definitions: Mapping[str, Object], tables: Path) -> list[str]:
    """Gives definitions to the server and to lint; what the server says of those that it does not take."""
    taken, refused = [], []
    for name, each in definitions.items():
        try:
            client.send("POST", client.path(*_CRD), json.dumps(each).encode(), "application/json")
        except ApiError as error:
            refused.append(f"{name}: {error}")
            continue
        taken.append(each)
        for table in imported_tables(each):
            path = tables / table.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(table.text, encoding="utf-8")
    _wait_served(client, taken)
    return refused


def _wait_served(client: Client, definitions: list[Object]) -> None:
    for each in definitions:
        client.wait_for(*_CRD, each["metadata"]["name"], holds("Established"), READY_SECONDS)
    deadline = time.monotonic() + READY_SECONDS
    for each in definitions:
        spec = each["spec"]
        served = [f"{spec['group']}/{version['name']}" for version in spec["versions"] if version.get("served")]
        while not all(client.serves(api, spec["names"]["kind"]) for api in served):
            assert time.monotonic() < deadline, f"{each['metadata']['name']} is not served"
            for api in served:
                client._resources.pop(api, None)
            time.sleep(0.2)
