"""The options of a run in its folder: it is resumed with them, and no trial is repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netlab.errors import UsageError
from netlab.runner.options import NOTE, Options, data_of, options_to_resume, resume_command
from netlab.store.plan import Plan
from netlab.store.run_folder import RunFolder

ASKED = {
    "only": ("ll", "w*"),
    "overrides": {"repeats": "2"},
    "redo": ("failed",),
    "retries": 0,
    "wait_s": 60.0,
    "patience_s": 1.5,
    "strict": True,
}


PLAN = Plan(
    title="t",
    content={},
    content_hash="0" * 64,
    matrix_text="title: t\n",
    link=None,
    cells=(),
    repeats=1,
    until=None,
    target=None,
)


def folder_of(path: Path, options: Options, *, with_end: bool) -> Path:
    """A run folder with a session that had ``options``."""
    with RunFolder.open_for_writing(path, PLAN) as folder:
        folder.note(NOTE, **data_of(options, path))
        if with_end:
            folder.note("session-end")
    return path


@pytest.mark.parametrize("with_end", [False, True])
def test_a_resumed_run_has_the_options_of_its_last_session_and_redoes_no_cell_twice(
    tmp_path: Path, with_end: bool
) -> None:
    hosts = tmp_path / "lab.yaml"
    hosts.write_text("hosts: {}\n")
    run = tmp_path / "runs" / "one"
    run.parent.mkdir()
    options = Options(matrix=tmp_path / "m.yaml", hosts=hosts, into=run, **ASKED)  # type: ignore[arg-type]
    resume_options = options_to_resume(folder_of(run, options, with_end=with_end))
    expected_values = {**ASKED, "redo": () if with_end else ("failed",)}
    assert {name: getattr(resume_options, name) for name in ASKED} == expected_values
    assert (resume_options.matrix, resume_options.hosts, resume_options.into) == (
        run / "matrix.yaml",
        hosts,
        run,
    )


def test_resume_with_redo_measures_only_the_cells_to_redo(tmp_path: Path) -> None:
    options = Options(matrix=Path("m"), only=("ll",), redo=("failed",))
    run = folder_of(tmp_path / "one", options, with_end=False)
    resume_options = options_to_resume(run, redo=("LL-one",))
    assert (resume_options.redo, resume_options.nothing_else, resume_options.only) == (
        ("LL-one",),
        True,
        ("ll",),
    )
    assert not options_to_resume(run).nothing_else


def test_a_run_folder_and_its_inventory_can_be_moved_together(tmp_path: Path) -> None:
    old_folder = tmp_path / "before"
    (old_folder / "runs").mkdir(parents=True)
    (old_folder / "lab.yaml").write_text("hosts: {}\n")
    run = old_folder / "runs" / "one"
    folder_of(run, Options(matrix=Path("m.yaml"), hosts=old_folder / "lab.yaml"), with_end=True)
    new_folder = old_folder.rename(tmp_path / "after")
    assert options_to_resume(new_folder / "runs" / "one").hosts == new_folder / "lab.yaml"


def test_resume_names_the_missing_inventory_and_the_option_that_replaces_it(
    tmp_path: Path,
) -> None:
    run = folder_of(
        tmp_path / "one", Options(matrix=Path("m"), hosts=tmp_path / "h"), with_end=True
    )
    with pytest.raises(UsageError, match=r"the inventory .*/h of .* does not exist.*--hosts FILE"):
        options_to_resume(run)
    new_inventory = tmp_path / "other.yaml"
    new_inventory.write_text("hosts: {}\n")
    assert options_to_resume(run, new_inventory).hosts == new_inventory


def test_resume_of_a_folder_without_stored_options_names_the_command_that_resumes(
    tmp_path: Path,
) -> None:
    run = folder_of(tmp_path / "one", Options(matrix=Path("m")), with_end=True)
    journal = run / "journal.jsonl"
    lines = [line for line in journal.read_text().splitlines() if '"asked"' not in line]
    journal.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(UsageError, match=r"netlab run matrix\.yaml --into"):
        options_to_resume(run)


@pytest.mark.parametrize("data", [{"inventory": None}, {"only": 3}, {}])
def test_resume_reports_the_journal_line_of_damaged_options(
    tmp_path: Path, data: dict[str, Any]
) -> None:
    run = tmp_path / "one"
    with RunFolder.open_for_writing(run, PLAN) as folder:
        folder.note(NOTE, **data)
    with pytest.raises(UsageError, match="line 2 of its journal is damaged"):
        options_to_resume(run)


def test_the_printed_resume_command_quotes_the_folder_of_the_run() -> None:
    assert resume_command(Path("my runs/one")) == "netlab resume 'my runs/one'"
