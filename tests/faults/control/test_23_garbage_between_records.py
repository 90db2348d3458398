"""Garbage between records changes no figure; in place of a record it is a failed trial's detail."""

from __future__ import annotations

from typing import Any, cast

import pytest
from advanced_clock import passing_clock
from fault_runs import Bench, bench, wrong_ok
from liars import COUNTED, PACED, LiedTo, lied_to
from outcomes import OutcomeOf, Seen, injects, outcome_of
from scripted_agent import Fake

from netlab.errors import ProbeError
from netlab.measurement.conversation import ConversationEnd, drive
from netlab.measurement.stream import Flow
from netlab.remote.agent import Agent
from netlab.trial.record import Status

__all__ = ["bench", "lied_to", "outcome_of", "passing_clock"]


def print_garbage(bench: Bench, lied_to: LiedTo) -> Seen:
    matrix = bench.matrix(PACED, repeats="3", defaults=COUNTED)
    bench.run("run", str(matrix), "--into", "clean", "--no-report")
    lied_to.run(matrix, "garbage")
    return {}


@injects()
def test_a_run_through_garbage_has_every_result_of_a_clean_run(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(print_garbage)
    faulty = outcome.load()
    assert [record.status for record in faulty.latest.values()] == [Status.OK] * 3
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure("300 random bytes, NUL, BOM, colours and CRLF around every record")


def print_half_a_record(bench: Bench, lied_to: LiedTo) -> Seen:
    matrix = bench.matrix("{test: stream, protocol: UDP, message_size: 64}")
    lied_to.run(matrix, 'result.congestion="\\u001b[31m"', "half")
    return {}


@injects()
def test_a_failed_trial_quotes_the_half_record_without_escape_sequences(
    outcome_of: OutcomeOf,
) -> None:
    (record,) = outcome_of(print_half_a_record).load().latest.values()
    assert (record.status, record.reason) == (Status.FAILED, "bad-answer")
    assert record.detail is not None
    assert '{"type":"result","id":"' in record.detail
    assert record.detail.isprintable()
    assert len(record.detail) < 250


@pytest.mark.agents
@pytest.mark.usefixtures("passing_clock")
def test_a_trial_without_a_last_record_quotes_the_line_that_came_instead() -> None:
    class Mute(Fake):
        last_skipped = r"'\x1b[2J\x00half of what'"

        def _begin(self, pending: object, verb: str, keys: dict[str, Any]) -> None:
            self.skipped_lines += 1

        def _stop(self, stop: dict[str, Any]) -> None:
            """It says nothing."""

    def end(verb: str) -> ConversationEnd:
        return ConversationEnd(cast(Agent, Mute(verb, [])), verb, "10.0.0.1", {})

    flow = Flow("", connector=end("send"), listener=end("receive"))
    with pytest.raises(ProbeError) as raised:
        drive([flow], 0.1, lambda *_: None)
    assert raised.value.word == "bad-answer"
    assert raised.value.detail.endswith(
        r"its host printed a line that is no record: '\x1b[2J\x00half of what'"
    )
