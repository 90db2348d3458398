"""The limit that cost a run most throughput is stated first."""

from __future__ import annotations

from netlab.findings.finding import Finding, Group, Kind, finding, leading_kinds


def limit(kind: Kind, costs: float, trials: int = 3) -> Finding:
    trial_keys = tuple(("c", number) for number in range(trials))
    return finding(kind, Group("LL"), ("c",), {"costs_share": costs}, trials=trial_keys)


def test_the_limit_that_cost_most_throughput_comes_first() -> None:
    link, starved = Kind.RATE_LIMIT_EITHER, Kind.CPU_WAIT_SENDER_PROGRAMS
    assert link.rank < starved.rank
    assert leading_kinds([limit(link, 0.1), limit(starved, 0.4)]) == (starved, link)
    assert leading_kinds([limit(link, 0.4), limit(starved, 0.1)]) == (link, starved)
    # The costs of several findings of a kind add up; an unknown cost is none.
    assert leading_kinds([limit(link, 0.3), limit(starved, 0.4), limit(link, 0.3)])[0] == link
    assert leading_kinds([finding(link, Group("LL")), limit(starved, 0.1)]) == (starved, link)
    # One trial of many costs less than a small cost in all of them.
    assert leading_kinds([limit(link, 0.1, 6), limit(starved, 0.4, 1)]) == (link, starved)


def test_the_pauses_of_an_end_and_the_loss_that_they_made_are_stated_by_their_cost() -> None:
    pause, loss = Kind.HOST_DELAY_PROCESS, Kind.LOSS_LIMIT_SOCKET
    assert loss.rank < pause.rank
    assert leading_kinds([limit(loss, 0.32, 6), limit(pause, 0.4), limit(pause, 0.4)])[0] == pause
    assert leading_kinds([limit(loss, 0.32, 6), limit(pause, 0.1), limit(pause, 0.1)])[0] == loss


def test_leading_kinds_of_findings_list_warnings_by_importance_before_notes() -> None:
    stop = finding(Kind.INTERRUPTION_FINAL, Group("LL"))
    outlier = finding(Kind.DEVIATION_CELL, Group("LL"))
    note = finding(Kind.WIRE_CEILING, Group("LL"))
    silent = finding(Kind.NOT_DETERMINED, Group("LL"))
    findings = [note, silent, outlier, limit(Kind.CPU_WAIT_SENDER_PROGRAMS, 0.4), stop]
    assert leading_kinds(findings) == (
        Kind.INTERRUPTION_FINAL,
        Kind.DEVIATION_CELL,
        Kind.CPU_WAIT_SENDER_PROGRAMS,
        Kind.WIRE_CEILING,
    )
