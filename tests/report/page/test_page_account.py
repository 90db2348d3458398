"""The page states what was measured, how trials ended, and what is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from made_reports import failure, make, planned, read_page, result, several_cells

from netlab.findings.analysis import Analysis, load
from netlab.trial.record import Status

__all__ = ["make"]


def test_each_mean_on_the_page_shows_its_share_of_the_wire_ceiling_if_the_link_is_known(
    make: Callable[..., Analysis],
) -> None:
    cells = [planned("LL"), planned("WL")]
    page = read_page(make(cells))
    assert len([a for a in page.all("span") if a.get("class") == "share"]) == 2
    assert f"{100 * 48 / 49.231:.1f}" in page.text
    without = read_page(make(cells, link=None))
    assert not [a for a in without.all("span") if a.get("class") == "share"]


def test_the_page_states_what_was_measured_between_which_pairings_and_when(
    make: Callable[..., Analysis],
) -> None:
    text = read_page(make([planned("LL"), planned("WL")])).text
    for words in (
        "2 cells: 2 ok",
        "Linux to Linux",
        "Linux to Windows",
        "on 2026-01-31 at 12:00 UTC",
    ):
        assert words in text


def test_traffic_counters_do_not_count_as_changed_host_facts(
    make: Callable[..., Analysis],
) -> None:
    def facts(moment: str, sent_bytes: int) -> tuple[str, dict[str, Any]]:
        host_facts = {"interface_sent_bytes": sent_bytes, "governor": "performance"}
        return ("facts", {"host": "alpha", "when": moment, "facts": host_facts})

    page = read_page(make([planned()], None, [facts("before", 1), facts("after", 2)]))
    assert "no recorded fact of a host changed during the run" in page.text
    assert {"class": "changed"} not in page.all("td")


def test_the_page_of_a_run_without_records_counts_all_cells_as_pending_and_shows_no_chart(
    make: Callable[..., Analysis],
) -> None:
    cells = several_cells()
    run = make(cells, [])
    page = read_page(run)
    assert f"{len(cells)} cells: {len(cells)} pending" in page.text
    assert "Not measured yet (not-measured-yet)." in page.text
    assert not page.all("img")
    assert " 0.00" not in (run.path / "tables.md").read_text(encoding="utf-8")


def test_the_page_counts_cells_by_status_and_gives_each_reason_with_its_detail(
    make: Callable[..., Analysis],
) -> None:
    cells = [planned(socket_buffer_bytes=size) for size in (1, 2, 3, 4, 5)]
    records = [
        result(cells[0], attempt=2),
        failure(cells[1], detail="alpha: nothing came"),
        failure(
            cells[2], "no-buffers", status=Status.IMPOSSIBLE, errno=105, detail="beta: refused"
        ),
        failure(cells[3], "host-away", status=Status.PENDING, detail="beta: no answer"),
    ]
    page = read_page(make(cells, records))
    assert "5 cells: 1 ok, 1 failed, 1 impossible, 2 pending" in page.text
    assert "1 needed more than one attempt" in page.text
    for words in ("alpha: nothing came", "beta: refused", "error number 105", "beta: no answer"):
        assert words in page.text


def test_the_page_shows_host_facts_and_marks_those_that_changed_during_the_run(
    make: Callable[..., Analysis],
) -> None:
    def facts(moment: str, governor: str) -> tuple[str, dict[str, Any]]:
        return ("facts", {"host": "alpha", "when": moment, "facts": {"governor": governor, "n": 1}})

    session = {"netlab": "0.1", "overrides": {"duration": "1s"}, "hosts": {"alpha": {"os": "L"}}}
    notes = [("session", session), facts("before", "performance"), facts("after", "powersave")]
    page = read_page(make([planned()], None, notes))
    assert {"class": "changed"} in page.all("td")
    for words in ("alpha", "performance", "powersave", "duration 1s"):
        assert words in page.text


def test_the_page_states_which_hosts_are_one_machine_and_share_its_cpus(
    make: Callable[..., Analysis],
) -> None:
    def facts(host: str, machine: str) -> tuple[str, dict[str, Any]]:
        return ("facts", {"host": host, "when": "before", "facts": {"machine_id": machine}})

    apart = read_page(make([planned()], None, [facts("alpha", "1"), facts("beta", "2")]))
    assert "share its CPUs" not in apart.text
    together = read_page(make([planned()], None, [facts("alpha", "1"), facts("beta", "1")]))
    assert "alpha, beta are one machine: they share its CPUs" in together.text


def test_the_page_of_an_imported_table_states_that_netlab_measured_none_of_its_figures(
    make: Callable[..., Analysis],
) -> None:
    page = read_page(make([planned()], source="table.csv"))
    assert "Imported from table.csv." in page.text
    assert "netlab measured none of them" in page.text
    assert "the receiver’s clock" not in page.text


def test_the_page_reports_a_damaged_journal(make: Callable[..., Analysis]) -> None:
    run = make([planned()])
    with (run.path / "journal.jsonl").open("ab") as journal:
        journal.write(b"torn")
    page = read_page(load(run.path))
    assert "The journal is damaged in 1 place;" in page.text
