"""What a host prints: records come out, or nothing; what is believed can be journalled.

The first byte says where the input is cut in two, as a connection cuts it, the last one which
request it is an answer to.
"""

from __future__ import annotations

from netlab.measurement.ends import prefixed
from netlab.remote.answers import Answers, RecordReader, fault_in
from netlab.remote.programs import _leftover, in_order
from netlab.results.value_types import misfit
from netlab.runner.survey import _warning
from netlab.terminal import printable
from netlab.trial.record import Record, Status, Value, from_json, to_json

TESTS = ("receive", "send", "ask", "mirror")
VERBS = (*TESTS, "hello", "clock", "facts", "lock", "run", "undo", "guard", "leftovers")


def one_input(data: bytes) -> None:
    reader = RecordReader()
    middle = len(data) * data[0] // 255 if data else 0
    records = [*reader.feed(data[:middle]), *reader.feed(data[middle:] + b"\n")]
    for record in records:
        if isinstance(record, bytes):
            continue
        answer = Answers(VERBS[data[-1] % len(VERBS)], {}).checked(record, 0.0)
        if answer is None:
            continue
        if answer["type"] == "error":
            assert printable(sentence := str(fault_in("host", answer))) == sentence
        elif answer["type"] == "result":
            _journal(prefixed("receiver_", answer))
        elif answer["type"] == "leftover":
            (leftover,) = in_order([_leftover(answer)])
            assert printable(sentence := _warning("host", leftover)) == sentence


def _journal(values: dict[str, Value]) -> None:
    assert misfit(values) is None, misfit(values)
    record = Record(
        cell="LL",
        trial=1,
        attempt=1,
        status=Status.OK,
        pairing="LL",
        server="a",
        client="b",
        test="stream",
        started_at="",
        settings={},
        values=values,
    )
    assert from_json(to_json(record)) == record
