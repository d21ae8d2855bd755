"""Compares gpuc's validation of workloads with a real API server: `python -m tests.conformance.refused_workloads`.

The API server has the CustomResourceDefinitions of the reference data (GPUC_SHARED) and no webhooks; the objects are
dry runs with strict field validation. The comparison takes one to two minutes.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from gpuc.admission.request import Decision
from gpuc.admission.validation import validation_errors, with_defaults
from gpuc.kubernetes.controllers import JOB_NAME
from gpuc.manifest.manifest import manifest_of
from gpuc.plan.change import Pair
from gpuc.plan.immutable import refused_fields
from gpuc_rehearsal.client import ApiError, Client
from gpuc_rehearsal.programs import Programs, find_programs
from tests.admission.validation.bases import BASES, Case, put
from tests.admission.validation.workload_cases import POD_CASES, UNCHECKED, VOLCANO, WEBHOOK_CASES, WORKLOAD_CASES
from tests.conformance.bare_api_server import bare_plane, dry_run, install, wait_established
from tests.conformance.check_result import CheckResult, report
from tests.conformance.shared_plane import upstream_crds
from tests.values import paths

Object = dict[str, Any]
_GENERATED = frozenset(("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid", "namespace"))
_VALUES: tuple[Any, ...] = (
    "", 0, -1, "x y", [], {}, True, 2.5, "A_b" * 30, None, "a.b/c", [""], {"a": "b"}, [{}], "0", "-1",
)  # fmt: skip
_OF_WEBHOOKS = {
    "JobSet": (("spec", "replicatedJobs"), ("spec", "managedBy")),
    "LeaderWorkerSet": (("spec", "leaderWorkerTemplate"),),
}
"""The fields that only a webhook makes immutable, by kind."""
_IMMUTABLE = ("immutable", "updates to")
"""Words in the refusals of changed fields."""
_KEPT = (("apiVersion",), ("kind",), ("metadata",), ("metadata", "namespace"))
"""Fields that the address of the request needs."""
_PLUGINS = frozenset(("preemptionPolicy", "priority"))
_ADDED_TOLERATIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "nvidia.com/gpu")
"""Tolerations and fields of pods that admission plugins set."""
_SPELT = frozenset(("creationTimestamp", "sizeLimit", "divisor", "limits", "requests"))
"""Fields with quantities, which the API server spells in another way."""
_IDS = frozenset(("controller-uid", "batch.kubernetes.io/controller-uid"))


def checks(programs: Programs, crds: Path | None) -> Iterator[CheckResult]:
    """Compares refusals and defaults.

    Args:
        crds: folder of upstream's CRDs; None if the reference data is missing. Then only built-in kinds are compared.
    """
    with bare_plane(programs) as (_, client):
        custom = _install(client, crds) if crds else set()
        for text, compare in (
            ("refuse the same workloads", _refusal_differences),
            ("agree about changed values", _variant_differences),
            ("agree about immutable fields", _change_differences),
        ):
            counts = Counter[str]()
            differences = "\n".join(compare(client, custom, counts))
            note = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
            yield CheckResult(f"gpuc and the API server {text}", differences, note)
        defaults = list(_default_differences(client))
        note = f"{sum(1 for _ in _accepted())} objects"
        yield CheckResult("gpuc and the API server set the same defaults", "\n".join(defaults), note)


def _install(client: Client, crds: Path) -> set[str]:
    """Installs the CustomResourceDefinitions of the kinds that the cases contain, and returns their keys of `BASES`."""
    wanted = {(base["apiVersion"], base["kind"]): name for name, base in BASES.items() if "." in base["apiVersion"]}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    installed = set()
    for file in sorted(crds.glob("*/*/*.yaml")):
        text = file.read_text(encoding="utf-8")
        if not any(f"kind: {kind}\n" in text for _, kind in wanted):
            continue
        for document in yaml.load_all(text, loader):
            kind = (document or {}).get("spec", {}).get("names", {}).get("kind")
            versions = (
                {f"{document['spec']['group']}/{v['name']}" for v in document["spec"]["versions"]} if kind else ()
            )
            if names := [wanted[version, kind] for version in versions if (version, kind) in wanted]:
                document["spec"].pop("conversion", None)
                install(client, document)
                installed.update(names)
    wait_established(client)
    return installed


def _refusal_differences(client: Client, custom: set[str], counts: Counter[str]) -> Iterator[str]:
    for case in (*POD_CASES, *WORKLOAD_CASES, *WEBHOOK_CASES, *VOLCANO, *UNCHECKED):
        if _is_served(case, custom):
            yield from _difference(client, str(case), case.document(), counts)


def _variant_differences(client: Client, custom: set[str], counts: Counter[str]) -> Iterator[str]:
    """Compares all allowed objects with every value replaced by values of other types and forms."""
    seen: set[str] = set()
    for case in (*POD_CASES, *WORKLOAD_CASES):
        if case.field is not None or not _is_served(case, custom):
            continue
        document = case.document()
        for path in paths(document):
            for value in _VALUES if path not in _KEPT else ():
                variant = deepcopy(document)
                put(variant, path, value)
                text = json.dumps(variant, sort_keys=True)
                if text not in seen:
                    seen.add(text)
                    yield from _difference(client, f"{case.kind} {path}={value!r}"[:200], variant, counts)


def _is_served(case: Case, custom: set[str]) -> bool:
    return "." not in BASES[case.kind]["apiVersion"] or case.kind in custom


def _difference(client: Client, name: str, document: Object, counts: Counter[str]) -> Iterator[str]:
    answer = dry_run(client, document)
    is_refused = isinstance(answer, ApiError)
    decisions = [item for item in validation_errors(document) if not item.check.startswith(("webhook", "controller"))]
    denied = any(item.outcome == "denied" for item in decisions)
    if denied == is_refused:
        counts["refused by both" if denied else "allowed by both"] += 1
    elif any(item.outcome == "unknown" for item in decisions):
        counts["not judged"] += 1
    else:
        counts["different"] += 1
        yield f"{name}: API server {str(answer)[:400] if is_refused else 'allows it'}; gpuc: {_text(decisions)}"


def _change_differences(client: Client, custom: set[str], counts: Counter[str]) -> Iterator[str]:
    """Compares the changes between all allowed objects of a kind. gpuc judges only some fields of pods."""
    for kind in BASES.keys() - {"Pod"}:
        cases = [case for case in WORKLOAD_CASES if case.kind == kind and case.field is None]
        documents = [_renamed(case.document()) for case in cases if _is_served(case, custom)]
        for before in documents:
            client.apply(before)
            for after in documents:
                yield from _change_difference(client, before, after, counts)
            client.delete_object(before)


def _renamed(document: Object) -> Object:
    return {**document, "metadata": {"name": "changed", "namespace": "default"}}


def _change_difference(client: Client, before: Object, after: Object, counts: Counter[str]) -> Iterator[str]:
    try:
        client.apply(after, dry_run=True)
        reason = ""
    except ApiError as error:
        reason = str(error)
    fields = refused_fields(Pair(manifest_of(before), manifest_of(after)))
    own = [".".join(map(str, path)) for path, _ in fields if path[:2] not in _OF_WEBHOOKS.get(before["kind"], ())]
    if reason and not any(words in reason for words in _IMMUTABLE):
        counts["refused for another reason"] += 1
    elif bool(reason) == bool(own):
        counts["refused by both" if own else "allowed by both"] += 1
    else:
        counts["different"] += 1
        specs = f"{json.dumps(before['spec'])[:300]} to {json.dumps(after['spec'])[:300]}"
        yield f"{before['kind']} {specs}: API server: {reason[:300] or 'allows it'}; gpuc: {own or 'allows it'}"


def _default_differences(client: Client) -> Iterator[str]:
    for document in _accepted():
        answer = dry_run(client, document)
        if isinstance(answer, ApiError):
            continue
        stored = _comparable(answer)
        own = _comparable(with_defaults(document))
        if stored != own:
            lines = [
                f"{path}: {left!r} in the API server, {right!r} in gpuc" for path, left, right in _diff(stored, own)
            ]
            yield f"{document['kind']} {json.dumps(document['spec'])[:200]}: {'; '.join(lines[:6])}"


def _accepted() -> Iterator[Object]:
    """Yields allowed objects of built-in kinds. Webhooks set the defaults of the other kinds."""
    for case in (*POD_CASES, *WORKLOAD_CASES):
        if case.field is None and "." not in BASES[case.kind]["apiVersion"]:
            yield case.document()


def _comparable(document: Object) -> Object:
    """Returns the parts of an object that both sides must have, without identifiers and quantities' spelling."""
    metadata = {key: value for key, value in document["metadata"].items() if key not in _GENERATED}
    # In the answer, a Job without labels has those of its template; validating admission sees it without.
    own = {key: value for key, value in metadata.pop("labels", {}).items() if key not in (*_IDS, *JOB_NAME)}
    metadata.update({"labels": own} if own else {})
    metadata.pop("generateName", None)
    if "generateName" in document["metadata"]:
        metadata.pop("name", None)
    spec = {key: value for key, value in document["spec"].items() if key not in _PLUGINS}
    tolerations = [row for row in spec.get("tolerations") or () if row.get("key") not in _ADDED_TOLERATIONS]
    cleaned: Object = _cleaned({"metadata": metadata, "spec": {**spec, "tolerations": tolerations}})
    return cleaned


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: child for key, child in value.items() if key not in _SPELT and child != "" and child is not None}
        return {key: "" if key in _IDS else _cleaned(child) for key, child in kept.items()}
    return [_cleaned(item) for item in value] if isinstance(value, list) else value


def _diff(left: Any, right: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}):
            yield from _diff(left.get(key), right.get(key), f"{path}.{key}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (value, other) in enumerate(zip(left, right, strict=True)):
            yield from _diff(value, other, f"{path}[{index}]")
    elif left != right:
        yield path, left, right


def _text(decisions: list[Decision]) -> str:
    return (
        "; ".join(f"{item.outcome} {'.'.join(map(str, item.field))}: {item.message}" for item in decisions) or "allowed"
    )


def main() -> int:
    """Runs the comparison; returns 1 if it finds a difference."""
    return report(checks(find_programs(), upstream_crds()))


if __name__ == "__main__":
    sys.exit(main())
