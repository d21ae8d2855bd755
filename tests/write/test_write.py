"""Writing is a transaction: interruptions, links, foreign files and damaged gpuc.lock files."""

import errno
import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuc.diagnostics.finding import StageError
from gpuc.manifest.manifest import Manifest, Text
from gpuc.manifest.output_file import output_files
from gpuc.write import filesystem as tree
from gpuc.write import transaction as journal
from gpuc.write import writer as write
from gpuc.write.filesystem import SafeDir
from gpuc.write.freshness import freshness_findings
from gpuc.write.lockfile import Versions, lock_file, parse, render, unchanged_texts
from gpuc.write.writer import Output

VERSIONS = Versions(gpuc="0.1.0", cdk8s="2.70.115")
A = "out/prod/karpenter/pools/a.yaml"
B = "out/prod/tenants/b.yaml"
ROOT = "clusters/prod/root.yaml"
README = "clusters/prod/README.md"


def output(cluster: str = "prod", **bodies: str) -> Output:
    """The output of a cluster with four files. An argument sets the text of a file; an empty text removes the file."""
    files = {"a": A, "b": B, "root": ROOT, "readme": README}
    texts = {name: bodies.get(name, f"{name} 1\n") for name in [*files, *bodies]}
    artifacts = [
        Text(files.get(name, f"out/prod/new/{name}.yaml").replace("/prod/", f"/{cluster}/"), ("spec", name), text)
        for name, text in texts.items()
        if text
    ]
    made = output_files(artifacts, f"specs/{cluster}.yaml")
    printed = {file: output_file.data for file, output_file in made.items()}
    return Output(cluster, printed, render(made, printed, VERSIONS, lambda path: f"specs/{cluster}.yaml"))


OLD = output(old="goes\n")
NEW = output(a="a 2\n", b="", root="root 2\n", new="comes\n", other="comes too\n")


def contents(root: Path) -> dict[str, bytes]:
    """The bytes of every file, and the target of every link."""
    return {
        str(path.relative_to(root)): bytes(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() or path.is_symlink()
    }


def ids(stop: pytest.ExceptionInfo[StageError]) -> list[str]:
    return [finding.id for finding in stop.value.findings]


def test_a_first_write_makes_exactly_the_tree(tmp_path: Path) -> None:
    made = write.write(tmp_path, [OLD])
    assert contents(tmp_path) == OLD.files()
    assert made.added == sorted(OLD.files())
    assert (made.changed, made.removed) == ([], [])


def test_a_second_write_touches_only_what_differs(tmp_path: Path) -> None:
    write.write(tmp_path, [OLD])
    before = {file: (tmp_path / file).stat().st_ino for file in OLD.files()}
    assert write.write(tmp_path, [OLD]).changes == []
    made = write.write(tmp_path, [NEW])
    assert contents(tmp_path) == NEW.files()
    assert made.added == ["out/prod/new/new.yaml", "out/prod/new/other.yaml"]
    assert made.changed == [ROOT, lock_file("prod"), A]
    assert made.removed == ["out/prod/new/old.yaml", B]
    assert (tmp_path / README).stat().st_ino == before[README]
    assert not (tmp_path / "out/prod/tenants").exists()


def in_a_child(work: Callable[[], object]) -> int:
    """Runs the work in a forked process and returns its exit code, negative for a signal."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    assert child.exitcode is not None
    return child.exitcode


def at_step(number: int, failure: Callable[[], None]) -> Callable[[str, str], None]:
    """A hook that causes the failure before the step with that number, counted from 0."""
    steps = iter(range(10_000))

    def hook(verb: str, path: str) -> None:
        if next(steps) == number:
            failure()

    return hook


def at_rename(renamed: str, failure: Callable[[], object]) -> Callable[[str, str], None]:
    """A hook that causes the failure before a path gets its new content."""

    def hook(verb: str, path: str) -> None:
        if (verb, path) == ("rename", renamed):
            failure()

    return hook


def count_steps(root: Path, wanted: Output) -> int:
    steps: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "before_change", lambda verb, path: steps.append(f"{verb} {path}"))
        write.write(root, [wanted])
    return len(steps)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def prepared(folder: Path) -> Path:
    folder.mkdir()
    write.write(folder, [OLD])
    (folder / "out/prod/mine.txt").write_text("not gpuc's")
    return folder


def assert_complete(root: Path) -> None:
    """Every file has its complete old or new content, except staging files."""
    for file, found in contents(root).items():
        if not file.startswith(journal.STAGING):
            assert found in (OLD.files().get(file), NEW.files().get(file), b"not gpuc's"), file


@pytest.mark.slow
def test_killed_at_any_step_the_next_run_ends_at_the_wanted_tree(tmp_path: Path) -> None:
    steps = count_steps(prepared(tmp_path / "count"), NEW)
    assert steps > 30
    wanted = {**NEW.files(), "out/prod/mine.txt": b"not gpuc's"}
    for number in range(steps):
        root = prepared(tmp_path / str(number))

        def killed(number: int = number, root: Path = root) -> None:
            tree.before_change = at_step(number, die)
            write.write(root, [NEW])

        assert in_a_child(killed) == -signal.SIGKILL
        assert_complete(root)
        write.write(root, [NEW if number % 2 else OLD])
        assert contents(root) == (wanted if number % 2 else {**OLD.files(), "out/prod/mine.txt": b"not gpuc's"})
        assert not stale_but_for_mine(root, NEW if number % 2 else OLD)


def stale_but_for_mine(root: Path, wanted: Output) -> list[str]:
    return [finding.message for finding in freshness_findings(root, [wanted]) if "mine.txt" not in finding.message]


def test_killed_while_it_recovers_the_third_run_still_ends_right(tmp_path: Path) -> None:
    root = prepared(tmp_path / "root")

    def killed_after_the_decision() -> None:
        tree.before_change = at_rename(A, die)
        write.write(root, [NEW])

    assert in_a_child(killed_after_the_decision) == -signal.SIGKILL
    for number in range(3):

        def killed_again(number: int = number) -> None:
            tree.before_change = at_step(number, die)
            write.write(root, [NEW])

        assert in_a_child(killed_again) == -signal.SIGKILL
        assert_complete(root)
        assert next(finding.id for finding in freshness_findings(root, [NEW])) == "WRT011"
    write.write(root, [NEW])
    assert contents(root) == {**NEW.files(), "out/prod/mine.txt": b"not gpuc's"}


def test_a_disk_that_is_full_while_many_files_are_synced_leaves_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    many = Output("prod", {f"out/prod/{number}.yaml": f"{number}\n" for number in range(40)}, NEW.lock)
    monkeypatch.setattr(tree, "before_change", lambda verb, path: verb == "fsync" and path[-1:] == "9" and refusal())
    with pytest.raises(StageError) as stop:
        write.write(tmp_path, [many])
    assert ids(stop) == ["WRT005"]
    assert not contents(tmp_path)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS])
def test_a_full_or_read_only_disk_at_any_step_leaves_complete_files_and_one_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refusal() -> None:
        raise OSError(error, os.strerror(error))

    for number in range(count_steps(prepared(tmp_path / "count"), NEW)):
        root = prepared(tmp_path / str(number))
        monkeypatch.setattr(tree, "before_change", at_step(number, refusal))
        with pytest.raises(StageError) as stop:
            write.write(root, [NEW])
        assert ids(stop) == ["WRT005"]
        assert os.strerror(error) in stop.value.findings[0].message
        assert_complete(root)
        monkeypatch.undo()
        write.write(root, [NEW])
        assert contents(root) == {**NEW.files(), "out/prod/mine.txt": b"not gpuc's"}


def test_a_file_cut_short_by_a_limit_is_never_put_in_place(tmp_path: Path) -> None:
    root = prepared(tmp_path / "root")

    def limited() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))
        try:
            write.write(root, [output(a="much more than eight bytes\n")])
        except StageError as stop:
            os._exit(0 if [finding.id for finding in stop.findings] == ["WRT005"] else 1)

    before = contents(root)
    assert in_a_child(limited) == 0
    assert contents(root) == before


def test_two_writers_at_once_leave_the_tree_of_one(tmp_path: Path) -> None:
    for turn in range(5):
        children = [
            multiprocessing.get_context("fork").Process(target=write.write, args=(tmp_path, [wanted]))
            for wanted in (OLD, NEW)
        ]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0, 0], turn
        assert contents(tmp_path) in (OLD.files(), NEW.files())


def test_a_writer_that_waits_in_vain_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "WAIT_SECONDS", 0.1)
    with SafeDir(tmp_path) as held, held.locked("out", 0):
        with pytest.raises(StageError) as stop:
            write.write(tmp_path, [OLD])
        assert ids(stop) == ["WRT004"]
    write.write(tmp_path, [OLD])


def test_a_foreign_file_in_the_way_is_a_finding_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / A).parent.mkdir(parents=True)
    (tmp_path / A).write_text("mine\n")
    with pytest.raises(StageError) as stop:
        write.write(tmp_path, [OLD])
    assert ids(stop) == ["WRT001"]
    assert A in stop.value.findings[0].message
    assert stop.value.findings[0].cluster == "prod"
    assert contents(tmp_path) == {A: b"mine\n"}


def test_a_foreign_file_with_the_same_bytes_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / A).parent.mkdir(parents=True)
    (tmp_path / A).write_text(OLD.texts[A])
    write.write(tmp_path, [OLD])
    write.write(tmp_path, [NEW])
    assert contents(tmp_path) == NEW.files()


def test_foreign_files_are_never_touched_nor_their_folders(tmp_path: Path) -> None:
    write.write(tmp_path, [OLD])
    (tmp_path / "out/prod/tenants/mine.yaml").write_text("mine")
    write.write(tmp_path, [NEW])
    write.write(tmp_path, [], clusters=[])
    assert contents(tmp_path) == {"out/prod/tenants/mine.yaml": b"mine"}


def test_what_someone_put_in_the_way_after_a_crash_is_not_overwritten(tmp_path: Path) -> None:
    write.write(tmp_path, [OLD])

    def killed() -> None:
        tree.before_change = at_rename("out/prod/new/new.yaml", die)
        write.write(tmp_path, [NEW])

    assert in_a_child(killed) == -signal.SIGKILL
    (tmp_path / "out/prod/new/new.yaml").parent.mkdir(exist_ok=True)
    (tmp_path / "out/prod/new/new.yaml").write_text("mine")
    for wanted in (OLD, NEW):
        with pytest.raises(StageError) as stop:
            write.write(tmp_path, [wanted])
        assert ids(stop) == ["WRT001"]
        assert (tmp_path / "out/prod/new/new.yaml").read_text() == "mine"
    (tmp_path / "out/prod/new/new.yaml").unlink()
    write.write(tmp_path, [OLD])
    assert contents(tmp_path) == OLD.files()


def test_only_a_compile_of_all_clusters_removes_one_whose_spec_is_gone(tmp_path: Path) -> None:
    other = output("dev")
    write.write(tmp_path, [OLD, other])
    write.write(tmp_path, [OLD])
    assert contents(tmp_path) == {**OLD.files(), **other.files()}
    assert [finding.id for finding in freshness_findings(tmp_path, [OLD], clusters=["prod"])] == ["WRT007"]
    made = write.write(tmp_path, [OLD], clusters=["prod"])
    assert made.removed == sorted(other.files())
    assert contents(tmp_path) == OLD.files()
    assert not (tmp_path / "clusters/dev").exists()


@pytest.mark.parametrize(
    "evil",
    ["../../etc/passwd", "/etc/passwd", "out/prod/../dev/a", "out/dev/a.yaml", "specs/prod.yaml", "out/prod//a",
     "out/prod/./a", "out/prod", "out/.gpuc/0", "out/prod/gpuc.lock", "", "clusters/prod/..", "out\\prod\\a"],
)  # fmt: skip
def test_an_index_that_names_a_path_elsewhere_is_refused(tmp_path: Path, evil: str) -> None:
    write.write(tmp_path, [OLD])
    index = tmp_path / lock_file("prod")
    read = json.loads(index.read_text())
    read["files"][evil] = {"data": "", "sha256": ""}
    index.write_text(json.dumps(read))
    before = contents(tmp_path)
    with pytest.raises(StageError) as stop:
        write.write(tmp_path, [NEW])
    assert ids(stop) == ["WRT003"]
    assert contents(tmp_path) == before


def test_a_git_conflict_in_the_lock_is_named_and_either_side_can_be_kept(tmp_path: Path) -> None:
    write.write(tmp_path, [OLD])
    lock = tmp_path / lock_file("prod")
    old = lock.read_text()
    write.write(tmp_path, [NEW])
    new = lock.read_text()
    head, *rest = old.splitlines(keepends=True)
    lock.write_text("".join([head, "<<<<<<< HEAD\n", *rest, "=======\n", *new.splitlines(True)[1:], ">>>>>>> x\n"]))
    problem = "has an unresolved Git conflict: keep either side, and run `gpuc compile`, which writes the file again"
    with pytest.raises(StageError) as stop:
        write.write(tmp_path, [NEW])
    for (finding,), id_ in ((stop.value.findings, "WRT003"), (freshness_findings(tmp_path, [NEW]), "WRT010")):
        assert (finding.id, str(finding.mark)) == (id_, f"{lock_file('prod')}:2:1")
        assert finding.message == f"{lock_file('prod')} {problem}"
    for side in (old, new):
        lock.write_text(side)
        write.write(tmp_path, [NEW])
        assert lock.read_text() == new
        assert not list(freshness_findings(tmp_path, [NEW]))


@pytest.mark.parametrize("text", ["", "<<<<<<< HEAD\n", "[]", "{}", '{"files": []}', "\x00", "[" * 100_000])
def test_a_damaged_index_is_refused(tmp_path: Path, text: str) -> None:
    write.write(tmp_path, [OLD])
    (tmp_path / lock_file("prod")).write_text(text)
    with pytest.raises(StageError) as stop:
        write.write(tmp_path, [NEW])
    assert ids(stop) == ["WRT003"]
    assert (tmp_path / A).read_text() == OLD.texts[A]
    assert [finding.id for finding in freshness_findings(tmp_path, [OLD])] == ["WRT010"]


@pytest.mark.parametrize(
    "rows",
    [
        [["specs/prod.yaml", "", "0", "out/.gpuc/0"]],
        [["out/prod/../../x", "", "0", "out/.gpuc/0"]],
        [["out/prod/a", "", "0", "../secret"]],
        [["out/prod/a"]],
        {"a": 1},
        "nonsense",
    ],
)
def test_a_journal_that_is_not_ours_is_refused(tmp_path: Path, rows: object) -> None:
    write.write(tmp_path, [OLD])
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/prod.yaml").write_text("spec")
    (tmp_path / journal.STAGING).mkdir()
    (tmp_path / journal.JOURNAL).write_text(json.dumps(rows))
    before = contents(tmp_path)
    with pytest.raises(StageError) as stop:
        write.write(tmp_path, [NEW])
    assert ids(stop) == ["WRT003"]
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "link",
    ["out", "clusters", "out/prod", "out/prod/karpenter", "out/prod/karpenter/pools", A, lock_file("prod"),
     "out/.gpuc", journal.JOURNAL],
)  # fmt: skip
def test_no_symbolic_link_is_followed(tmp_path: Path, link: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    write.write(root, [OLD])
    outside.mkdir()
    if (root / link).exists():
        (root / link).rename(outside / "moved")
    else:
        (outside / "moved").mkdir()
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(outside / "moved")
    before = contents(tmp_path)
    with pytest.raises(StageError) as stop:
        write.write(root, [NEW])
    assert set(ids(stop)) == {"WRT002"}
    assert contents(tmp_path) == before
    assert {finding.id for finding in freshness_findings(root, [OLD])} & {"WRT002", "WRT011"}


def test_a_link_that_appears_while_writing_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    prepared(root)

    def linked() -> None:
        (root / "out/prod/karpenter/pools").rename(root / "moved")
        (root / "out/prod/karpenter/pools").symlink_to(outside)

    monkeypatch.setattr(tree, "before_change", at_rename(journal.JOURNAL, linked))
    with pytest.raises(StageError) as stop:
        write.write(root, [NEW])
    assert ids(stop) == ["WRT002"]
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    (tmp_path / A).parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(tmp_path / A)
    else:
        (tmp_path / A).mkdir()
    with pytest.raises(StageError) as stop:
        write.write(tmp_path, [OLD])
    assert ids(stop) == ["WRT002"]


def test_a_text_for_another_place_is_refused(tmp_path: Path) -> None:
    evil = Output("prod", {"out/dev/a.yaml": "x", "out/prod/../x": "x"}, OLD.lock)
    with pytest.raises(StageError) as stop:
        write.write(tmp_path, [evil])
    assert ids(stop) == ["WRT002", "WRT002"]
    assert contents(tmp_path) == {}


def test_a_tree_that_does_not_exist_is_a_finding(tmp_path: Path) -> None:
    with pytest.raises(StageError) as stop:
        write.write(tmp_path / "nowhere", [OLD])
    assert ids(stop) == ["WRT005"]
    assert [finding.id for finding in freshness_findings(tmp_path / "nowhere", [OLD])] == ["WRT006"]


def test_stale_names_every_file_that_is_not_what_it_should_be(tmp_path: Path) -> None:
    write.write(tmp_path, [OLD])
    assert freshness_findings(tmp_path, [OLD], clusters=["prod"]) == []
    (tmp_path / README).write_text("by hand")
    (tmp_path / "out/prod/extra.yaml").write_text("")
    found = {str(finding.mark).removesuffix(":1:1"): finding.id for finding in freshness_findings(tmp_path, [NEW])}
    assert found == {
        A: "WRT008",
        ROOT: "WRT008",
        README: "WRT009",
        B: "WRT007",
        "out/prod/new/old.yaml": "WRT007",
        "out/prod/extra.yaml": "WRT007",
        "out/prod/new/new.yaml": "WRT006",
        "out/prod/new/other.yaml": "WRT006",
        lock_file("prod"): "WRT010",
    }


def test_an_edit_that_is_also_written_into_the_index_is_still_found(tmp_path: Path) -> None:
    write.write(tmp_path, [OLD])
    (tmp_path / A).write_text("by hand")
    index = (tmp_path / lock_file("prod")).read_text()
    old, new = (journal.digest(text.encode()) for text in (OLD.texts[A], "by hand"))
    (tmp_path / lock_file("prod")).write_text(index.replace(old, new))
    assert {finding.id for finding in freshness_findings(tmp_path, [OLD])} == {"WRT008", "WRT010"}


def test_a_hand_edit_is_taken_back_by_the_next_write(tmp_path: Path) -> None:
    write.write(tmp_path, [OLD])
    (tmp_path / A).write_text("by hand")
    assert write.write(tmp_path, [OLD]).changed == [A]
    assert contents(tmp_path) == OLD.files()


def test_the_index_says_where_each_object_comes_from() -> None:
    objects = [
        Manifest("out/prod/t.yaml", ("spec", "tenants", "t", 0), "v1", kind, "t", {}, namespace)
        for kind, namespace in (("Namespace", ""), ("ConfigMap", "t"))
    ]
    made = output_files(objects, "specs/prod.yaml")
    index = render(made, {"out/prod/t.yaml": "text"}, VERSIONS, lambda path: "specs/base/eks.yaml")
    read = json.loads(index)
    origin = {"path": ["spec", "tenants", "t", 0], "spec": "specs/base/eks.yaml"}
    assert read["files"]["out/prod/t.yaml"]["from"] == [
        {"api": "v1", "kind": "Namespace", "name": "t", **origin},
        {"api": "v1", "kind": "ConfigMap", "name": "t", "namespace": "t", **origin},
    ]
    assert (read["gpuc"], read["cdk8s"]) == ("0.1.0", "2.70.115")
    assert sum('"kind"' in line for line in index.splitlines()) == 2


def test_only_an_untouched_file_of_the_same_data_and_versions_needs_no_print(tmp_path: Path) -> None:
    write.write(tmp_path, [OLD])
    made = output_files((Text(file, (), text) for file, text in OLD.texts.items()), "specs/prod.yaml")
    lock = parse((tmp_path / lock_file("prod")).read_bytes(), "prod")
    with SafeDir(tmp_path) as opened:
        assert unchanged_texts(made.values(), lock, VERSIONS, opened.read) == OLD.texts
        (tmp_path / A).write_text("by hand")
        assert unchanged_texts(made.values(), lock, VERSIONS, opened.read).keys() == OLD.texts.keys() - {A}
        made |= output_files([Text(B, (), "other")], "specs/prod.yaml")
        assert unchanged_texts(made.values(), lock, VERSIONS, opened.read).keys() == OLD.texts.keys() - {A, B}
        assert unchanged_texts(made.values(), lock, Versions("0.2.0", "2.70.115"), opened.read) == {}
