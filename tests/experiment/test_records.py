"""A record is written as JSON and read back, and its reasons are those of a closed list."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import pytest
from folders import DOCS
from hypothesis import given
from hypothesis import strategies as st
from made_runs import made_record

from netlab.trial.record import (
    REASONS,
    SCHEMA,
    Record,
    Status,
    from_json,
    reason_of,
    to_json,
    utc_now,
)

PROTOCOL = DOCS / "protocol.md"

numbers = st.integers() | st.floats(-1e30, 1e30)
names = st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1)
values = st.dictionaries(
    names,
    st.text() | st.booleans() | numbers | st.lists(st.integers()) | st.lists(numbers),
    max_size=6,
)


def words_of_the_protocol() -> list[tuple[str, str]]:
    """(word, what the trial is) from the table of error words."""
    table = PROTOCOL.read_text("utf-8").split("### Error words")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| `")]
    return [(word, row[-1].strip()) for row in rows for word in re.findall(r"`([a-z-]+)`", row[0])]


def test_every_error_word_of_the_protocol_is_a_reason_of_the_documented_status() -> None:
    words = words_of_the_protocol()
    assert len(words) > 25
    for word, verdict in words:
        assert REASONS[word].impossible == (verdict == "impossible"), word


def test_every_reason_has_one_sentence() -> None:
    for word, reason in REASONS.items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", word)
        assert reason.sentence.endswith("."), word
        assert "\n" not in reason.sentence, word
        assert str(reason) == reason.sentence


def test_an_error_word_outside_the_list_of_reasons_is_an_unknown_error() -> None:
    assert reason_of("no-peer") == "no-peer"
    assert reason_of("brand-new-word") == "unknown-error"


@given(values=values, detail=st.none() | st.text(), trial=st.integers(1, 10**6))
def test_a_record_written_as_json_is_read_back_equal(
    values: dict[str, str | int | float], detail: str | None, trial: int
) -> None:
    record = dataclasses.replace(made_record(values=values, trial=trial), detail=detail)
    text = to_json(record)
    assert text.isascii()
    assert "\n" not in text
    assert from_json(text) == record


def test_unknown_fields_of_a_record_are_absent_in_json() -> None:
    data = json.loads(to_json(made_record()))
    assert "reason" not in data
    assert "null" not in to_json(made_record())
    assert data["schema"] == SCHEMA


def test_keys_of_a_later_netlab_in_a_record_are_ignored() -> None:
    data = json.loads(to_json(made_record())) | {"colour": "green"}
    assert from_json(json.dumps(data)) == made_record()


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 2e30, -1e308, None, {}, [math.nan], [1e308], ["a"]]
)
def test_a_record_with_nan_or_another_invalid_value_is_refused(value: object) -> None:
    record = made_record(values={"jitter_ns": value})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="jitter_ns"):
        to_json(record)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_json_of_a_record_with_nan_or_infinity_is_refused(text: str) -> None:
    line = to_json(made_record(values={"jitter_ns": 7})).replace('"jitter_ns":7', f'"x":{text}')
    with pytest.raises(ValueError, match=text if text != "1e999" else "inf"):
        from_json(line)


def test_a_failed_record_with_a_throughput_is_refused_in_writing_and_in_reading() -> None:
    bad = made_record(
        status=Status.FAILED, reason="no-traffic", values={"receiver_throughput_bit_per_s": 0}
    )
    with pytest.raises(ValueError, match=r"failed, but .* is given"):
        to_json(bad)
    text = to_json(made_record()).replace('"ok"', '"failed"')
    with pytest.raises(ValueError, match=r"failed, but .* is given"):
        from_json(text)


def test_a_failed_record_with_a_transaction_rate_is_refused() -> None:
    bad = made_record(
        status=Status.FAILED, reason="no-answer", values={"client_transactions_per_s": 0.0}
    )
    with pytest.raises(ValueError, match=r"failed, but .* is given"):
        to_json(bad)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (Status.FAILED, None),
        (Status.PENDING, "because"),
        (Status.OK, "no-peer"),
        (Status.IMPOSSIBLE, ""),
    ],
)
def test_a_record_without_the_reason_that_its_status_needs_is_refused(
    status: Status, reason: str | None
) -> None:
    with pytest.raises(ValueError, match=r"reason"):
        to_json(made_record(status=status, reason=reason))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema": 99}, "use a newer netlab"),
        ({"schema": 0}, "never existed"),
        ({"schema": None}, "never existed"),
        ({"schema": True}, "never existed"),
        ({"status": "fine"}, "does not know"),
        ({"trial": "1"}, "trial is '1'"),
        ({"trial": True}, "trial is True"),
        ({"values": []}, "type dict"),
        ({"errno": "EIO"}, "errno is"),
    ],
)
def test_a_record_of_another_shape_is_refused_with_a_reason(
    change: dict[str, object], sentence: str
) -> None:
    data = json.loads(to_json(made_record())) | change
    with pytest.raises(ValueError, match=sentence):
        from_json(json.dumps(data))


@pytest.mark.parametrize(
    "field_name", ["cell", "trial", "status", "settings", "values", "started_at"]
)
def test_a_missing_field_of_a_record_is_named(field_name: str) -> None:
    data = json.loads(to_json(made_record()))
    del data[field_name]
    with pytest.raises(ValueError, match=f"{field_name} is missing"):
        from_json(json.dumps(data))


@given(st.text() | st.just("[" * 100_000) | st.recursive(st.none(), st.lists).map(json.dumps))
def test_any_text_that_is_no_record_raises_a_valueerror(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        assert isinstance(from_json(text), Record)


def test_timestamps_are_utc_with_microseconds() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", utc_now())
