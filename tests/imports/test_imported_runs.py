"""A table and the facts of its document are imported into a new folder, or again into its run."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from folders import ROOT
from made_tables import NOW, TABLE, small_table

from netlab.cli import cli
from netlab.errors import LockedError, MatrixError, UsageError
from netlab.ethernet import Link
from netlab.findings.analysis import load
from netlab.imports.common.facts_file import read_stated
from netlab.imports.table import import_table
from netlab.store.plan import stated_facts_of
from netlab.store.run_folder import RunFolder

# Into which folder


def test_two_imports_of_one_table_with_a_fixed_time_write_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        import_table(TABLE, tmp_path / name, imported_at=NOW)
    for file in ("run.json", "journal.jsonl"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_second_import_into_the_same_folder_does_not_change_the_journal(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35", "LL,TCP,64,20480,")
    import_table(table, tmp_path / "run")
    journal_bytes = (tmp_path / "run" / "journal.jsonl").read_bytes()
    import_table(table, tmp_path / "run")
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == journal_bytes


def test_a_second_import_adds_the_record_that_an_interrupted_import_left_out(
    tmp_path: Path,
) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35", "LL,TCP,64,20480,90")
    import_table(table, tmp_path / "run", imported_at=NOW)
    journal = tmp_path / "run" / "journal.jsonl"
    journal_bytes = journal.read_bytes()
    journal.write_bytes(journal_bytes[: -len(journal_bytes.splitlines(keepends=True)[-1])])
    import_table(table, tmp_path / "run", imported_at=NOW)
    assert journal.read_bytes() == journal_bytes


def test_an_import_of_another_table_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    import_table(table, tmp_path / "run")
    small_table(table, "LL,TCP,64,16384,88.36")
    with pytest.raises(UsageError, match=r"another import, of table\.csv: .*another table"):
        import_table(table, tmp_path / "run")
    with pytest.raises(UsageError, match="link: nothing in the folder"):
        import_table(TABLE, tmp_path / "run", link=Link(1e8, 1500))


def test_a_table_in_the_target_folder_can_be_imported(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    import_table(table, tmp_path)
    assert len(load(tmp_path).frame) == 1


def test_an_import_into_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"thesis\.tex is in it"):
        import_table(table, tmp_path)


def test_an_import_is_refused_while_another_writer_holds_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netlab.store.journal_reading._PAUSE_S", 0)
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    import_table(table, tmp_path / "run")
    plan = load(tmp_path / "run").plan
    with RunFolder.open_for_writing(tmp_path / "run", plan), pytest.raises(LockedError):
        import_table(table, tmp_path / "run")


# What the document states beside its table

FACTS = """\
source: a document
durations:
  - {pairings: [LL], asked: 10s, shortest: 11s, longest: 19s, where: page 3}
hosts:
  L: {where: page 1, facts: {kernel: Linux 2.4, memory_bytes: 134217728}}
remarks:
  - {text: The cable was short., where: page 2}
"""


def with_facts(tmp_path: Path, text: str = FACTS) -> Path:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    facts = tmp_path / "facts.yaml"
    facts.write_text(text, encoding="utf-8")
    return import_table(table, tmp_path / "run", facts=facts, imported_at=NOW)


def test_facts_of_a_document_are_in_the_imported_run_with_their_source(tmp_path: Path) -> None:
    run = load(with_facts(tmp_path))
    statement = stated_facts_of(run.plan)
    (duration,) = statement.durations
    assert (duration.shortest_s, duration.longest_s) == (11, 19)
    assert (duration.source, statement.remarks[0].source) == (
        "a document, page 3",
        "a document, page 2",
    )
    (noted,) = run.facts
    assert (noted["host"], noted["when"]) == ("L", "stated")
    assert noted["facts"] == {
        "kernel": "Linux 2.4",
        "memory_bytes": 134217728,
        "source": "a document, page 1",
    }
    assert run.frame["duration_s"].isna().all(), "a cell keeps what its table says"


def test_a_second_import_accepts_the_same_facts_and_refuses_other_facts(tmp_path: Path) -> None:
    journal = with_facts(tmp_path) / "journal.jsonl"
    journal_bytes = journal.read_bytes()
    with_facts(tmp_path)
    assert journal.read_bytes() == journal_bytes
    with pytest.raises(UsageError, match=r"stated\.durations.*longest_s: 19"):
        with_facts(tmp_path, FACTS.replace("19s", "18s"))


def test_a_facts_file_in_the_target_folder_can_be_imported(tmp_path: Path) -> None:
    small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    (tmp_path / "facts.yaml").write_text(FACTS)
    import_table(tmp_path / "table.csv", tmp_path, facts=tmp_path / "facts.yaml")
    assert stated_facts_of(load(tmp_path).plan).durations


@pytest.mark.parametrize(
    ("wrong", "right", "fault"),
    [
        ("shortest: 11s", "shortest: 11", None),
        ("longest: 19s", "longest: 9s", "`shortest` is longer than `longest`"),
        ("longest: 19s", "longest: 19m", "m is not a unit of time"),
        ("asked: 10s", "asked: 0s", "should be more than 0"),
        ("where: page 3", "wher: page 3", "did you mean `where`"),
        ("source: a document\n", "", "source"),
        ("facts: {kernel: Linux 2.4, memory_bytes: 134217728}", "facts: {}", "facts"),
        ("kernel: Linux 2.4", "kernel: [1, 2]", "kernel"),
    ],
)
def test_a_wrong_facts_file_is_refused_with_its_place_and_no_run_is_written(
    wrong: str, right: str, fault: str | None, tmp_path: Path
) -> None:
    assert wrong in FACTS
    text = FACTS.replace(wrong, right)
    if fault is None:
        assert with_facts(tmp_path, text).exists()
        return
    with pytest.raises(MatrixError) as caught:
        with_facts(tmp_path, text)
    assert fault in str(caught.value)
    assert "facts.yaml:" in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_facts_about_a_pairing_that_the_table_lacks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"table\.csv has no pairing 'WW'; its pairings: LL"):
        with_facts(tmp_path, FACTS.replace("[LL]", "[LL, WW]"))


def test_netlab_import_takes_a_facts_file_and_its_report_prints_the_facts(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    facts = tmp_path / "facts.yaml"
    facts.write_text(FACTS)
    words = ["import", "table", str(table), "--into", str(tmp_path / "run"), "--facts", str(facts)]
    outcome = CliRunner().invoke(cli, words)
    assert outcome.exit_code == 0, outcome.output
    text = (tmp_path / "run" / "tables.md").read_text("utf-8")
    assert "The cable was short." in text
    assert "11 s to 19 s instead of 10 s (a document, page 3)" in text


@pytest.mark.parametrize("name", ["lab-report", "nettest", "connection-kinds"])
def test_the_run_of_a_recorded_document_contains_the_facts_of_its_facts_file(name: str) -> None:
    folder = ROOT / "reports" / name
    statement, run = read_stated(folder / "facts.yaml"), load(folder)
    assert stated_facts_of(run.plan) == statement
    assert statement.remarks
    assert {note["host"] for note in run.facts} == {host.name for host in statement.hosts}
    assert all(host.source for host in statement.hosts)
