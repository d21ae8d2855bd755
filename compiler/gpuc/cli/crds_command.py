"""`gpuc crds import`: CustomResourceDefinitions into the user's repository, so that `gpuc lint` knows their kinds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuc.diagnostics.report.console import write_message, write_stdout
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError
from gpuc.lint.crds.definitions import Import, imports
from gpuc.lint.load.files import UnreadableError, files_below, text_of
from gpuc.lint.load.text import read
from gpuc.write.filesystem import BusyError, RefusedError, SafeDir

INTO = "crds"
_WAIT_SECONDS = 5.0
_ASIDE = ".gpuc-new"
"""How the name of a table ends that is being written."""
USAGE = f"""usage: gpuc crds import FILE|DIR... [--into DIR]

Take the CustomResourceDefinitions of files or folders (also what `kubectl get crd -o yaml` prints) into DIR, one small
table for each version that they serve. `gpuc lint --crds DIR` then checks objects of their kinds: by the schema, and
by CEL rules. Rules about changes of an object, rules that call a function which gpuc lacks, and what evaluation costs
are not checked; the import prints each rule that calls such a function.

options:
  --into DIR  where the tables go, {INTO}/ where nothing is said; tables of the same kind and version are replaced
"""


@dataclass
class _Gathered:
    tables: dict[str, Import] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    others: int = 0
    """Documents that are no CustomResourceDefinition."""


def run_crds(words: list[str]) -> int:
    """Carries out `gpuc crds import ...`; 1 where a definition could not be taken.

    Raises:
        UsageError: for words that it does not take, and where there is no definition at all.
    """
    if any(word in {"-h", "--help"} for word in words):
        write_stdout(USAGE)
        return 0
    paths, into = _arguments(words)
    found = _Gathered()
    for path in paths:
        for file in files_below(path):
            _take(Path(file), found)
    if not found.tables and not found.problems:
        raise UsageError(f"no CustomResourceDefinition in {', '.join(paths)}")
    new, changed = _write(found, into)
    rules = sum(table.rules for table in found.tables.values())
    write_stdout(f"{len(found.tables)} versions of kinds with {rules} rules in {into}/: {new} new, {changed} changed\n")
    for line in _never_evaluated(found):
        write_stdout(f"{line}\n")
    if found.others:
        write_stdout(f"{found.others} other documents were passed over\n")
    for problem in found.problems:
        write_message(problem)
    return int(bool(found.problems))


def _never_evaluated(found: _Gathered) -> Iterator[str]:
    """How many rules lint evaluates for no object, and each of them."""
    if not any(table.rules for table in found.tables.values()):
        return
    from gpuc.lint.crds.rules import never_evaluated

    lines = [
        f"  {table.file.removesuffix('.json')}: {rule['rule'].strip()}: {why}"
        for table in found.tables.values()
        for rule in table.each_rule()
        if (why := never_evaluated(rule))
    ]
    if lines:
        yield f"{len(lines)} rules are not evaluated:"
        yield from lines


def _arguments(words: list[str]) -> tuple[list[str], Path]:
    if words[:1] != ["import"]:
        hint = did_you_mean(words[0], ["import"]) if words else ""
        raise UsageError(f"gpuc crds takes the word import first{hint}; `gpuc crds --help` shows the usage")
    paths: list[str] = []
    into, rest = INTO, words[1:]
    while rest:
        word = rest.pop(0)
        if word == "--into" and rest:
            into = rest.pop(0)
        elif word.startswith("--into="):
            into = word.partition("=")[2]
        elif word.startswith("-"):
            raise UsageError(f"gpuc crds import takes no argument {word}{did_you_mean(word, ['--into', '--help'])}")
        else:
            paths.append(word)
    if not paths or not into:
        raise UsageError("gpuc crds import needs a file or a folder; `gpuc crds --help` shows the usage")
    return paths, Path(into)


def _take(file: Path, found: _Gathered) -> None:
    try:
        text = text_of(str(file))
    except UnreadableError as error:
        found.problems.append(f"{file} cannot be read: {error}")
        return
    documents = read(text, str(file))
    hint = "; render a template before it is imported" if "{{" in text else ""
    found.problems += [f"{each.mark}: {each.message}{hint}" for each in documents.findings]
    for _, document in documents.documents:
        for each in _definitions(document):
            if not isinstance(each, dict) or each.get("kind") != "CustomResourceDefinition":
                found.others += 1
                continue
            try:
                for table in imports(each):
                    _keep(table, file, found)
            except (ValueError, RecursionError) as error:
                found.problems.append(f"{file}: {_name(each)}: {error}")


def _keep(table: Import, file: Path, found: _Gathered) -> None:
    before = found.tables.get(table.file)
    if before is not None and before.text != table.text:
        found.problems.append(f"{file}: {table.file} was read before and says something else; the later one is taken")
    found.tables[table.file] = table


def _definitions(document: Any) -> list[Any]:
    """The document itself, or the items of a list as `kubectl get -o yaml` prints one."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if isinstance(kind, str) and kind.endswith("List") and isinstance(document.get("items"), list):
        implied = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
        return [
            {**implied, **each} if isinstance(each, dict) and kind != "List" else each for each in document["items"]
        ]
    return [document]


def _name(definition: dict[str, Any]) -> str:
    metadata = definition.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else "a CustomResourceDefinition without a name"


def _write(found: _Gathered, into: Path) -> tuple[int, int]:
    """Writes every table; how many are new, and how many have changed.

    All are written aside first and then put in place one by one: none is ever half written, whatever happens.

    Raises:
        UsageError: when the folder cannot be written, or another import does not end; each table is the old one or
            the new one then.
    """
    try:
        into.mkdir(parents=True, exist_ok=True)
        with SafeDir(into) as tree, tree.locked(".", _WAIT_SECONDS):
            return _replace(tree, {name: table.text.encode() for name, table in found.tables.items()})
    except BusyError:
        raise UsageError(f"another import writes into {into}") from None
    except RefusedError as error:
        raise UsageError(f"{into} cannot be written: {error}") from error
    except OSError as error:
        raise UsageError(f"{into} cannot be written: {error.strerror}") from error


def _replace(tree: SafeDir, texts: dict[str, bytes]) -> tuple[int, int]:
    """Puts the texts that differ in place; what an import that was killed has left goes."""
    _clear(tree)
    before = {name: tree.read(name) for name in sorted(texts)}
    asides = {f"{number}{_ASIDE}": name for number, name in enumerate(before) if before[name] != texts[name]}
    try:
        for aside, name in asides.items():
            tree.create(aside, texts[name])
        tree.sync(asides)
        for aside, name in asides.items():
            tree.rename(aside, name)
    finally:
        with suppress(OSError):
            _clear(tree)
    new = sum(before[name] is None for name in asides.values())
    return new, len(asides) - new


def _clear(tree: SafeDir) -> None:
    for name, is_folder in tree.entries("."):
        if name.endswith(_ASIDE) and not is_folder:
            tree.remove(name)
