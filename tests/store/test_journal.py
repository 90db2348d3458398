"""The journal returns every intact line of a damaged file and reports each damage.

Cut and flipped files: tests/faults/store/test_29_corrupt_results.py.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from journals import decode

from netlab.errors import StoreError
from netlab.store.journal import MAX_DAMAGES, Journal, encode_line, read_journal


def text_of(number: int, filling: str = "x" * 20) -> str:
    return json.dumps({"kind": "made-up", "at": "now", "data": {"n": number, "f": filling}})


def file_of(count: int) -> bytes:
    return b"".join(encode_line(text_of(number)) for number in range(count))


def test_a_journal_line_is_checksum_space_json_and_line_feed() -> None:
    # The check value of CRC-32.
    assert encode_line("123456789") == b"cbf43926 123456789\n"


def test_the_journal_recovers_both_lines_if_their_line_feed_is_lost() -> None:
    data = encode_line(text_of(1))[:-1] + encode_line(text_of(2)) + encode_line(text_of(3))
    lines, damage = decode(data)
    assert [line.data["data"]["n"] for line in lines] == [1, 2, 3]
    assert [str(place) for place in damage] == [
        "line 1: damaged; 2 intact lines were recovered from it"
    ]


def test_a_byte_order_mark_and_windows_line_ends_are_damage_but_lose_no_line() -> None:
    lines, damage = decode(b"\xef\xbb\xbf" + file_of(3).replace(b"\n", b"\r\n"))
    assert [line.data["data"]["n"] for line in lines] == [0, 1, 2]
    assert [place.line for place in damage] == [1, 2, 3]


@given(st.lists(st.binary(max_size=60) | st.integers(0, 9), max_size=12))
def test_garbage_between_journal_lines_is_damage_and_loses_no_line(
    pieces: list[bytes | int],
) -> None:
    data = b"".join(
        encode_line(text_of(piece)) if isinstance(piece, int) else piece.replace(b"\n", b"") + b"\n"
        for piece in pieces
    )
    lines, damage = decode(data)
    assert [line.data["data"]["n"] for line in lines] == [p for p in pieces if isinstance(p, int)]
    garbage = [i for i, p in enumerate(pieces, 1) if isinstance(p, bytes) and p.strip(b"\n")]
    assert [place.line for place in damage] == garbage


@given(st.binary(max_size=400))
def test_random_bytes_in_a_journal_give_damage_and_no_line(data: bytes) -> None:
    lines, damage = decode(data)
    assert not lines
    assert bool(damage) == bool(data.strip(b"\n"))


def test_a_journal_line_with_300000_line_beginnings_counts_as_one_damage() -> None:
    # Work that grew with the square of the length would take hours.
    lines, damage = decode(b'00000000 {"a":' * 300_000)
    assert lines == ()
    assert len(damage) == 1


def test_deeply_nested_json_in_a_journal_is_damage() -> None:
    lines, damage = decode(encode_line('{"a":' * 50_000) + file_of(1))
    assert len(lines) == 1
    assert [place.line for place in damage] == [1]


def test_damaged_lines_after_the_first_1000_are_only_counted() -> None:
    _, damage = decode(b"x\n" * (MAX_DAMAGES + 500))
    assert len(damage) == MAX_DAMAGES + 1
    assert damage[-1].message == "500 more damaged lines follow"


@pytest.mark.parametrize("torn", [1, 5, 9, 40])
def test_a_torn_line_stays_and_the_next_record_begins_on_a_new_line(
    tmp_path: Path, torn: int
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(file_of(2) + encode_line(text_of(2))[:torn])
    torn_data = path.read_bytes()
    journal = Journal.open(path)
    journal.append(text_of(3))
    journal.append(text_of(4))
    journal.close()
    assert path.read_bytes() == torn_data + b"\n" + encode_line(text_of(3)) + encode_line(
        text_of(4)
    )
    lines, damage = read_journal(path)
    assert [line.data["data"]["n"] for line in lines] == [0, 1, 3, 4]
    assert [place.line for place in damage] == [3]


def test_a_record_that_lacks_only_its_line_feed_is_read_and_gets_its_line_feed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(file_of(2)[:-1])
    journal = Journal.open(path)
    journal.append(text_of(2))
    journal.close()
    assert path.read_bytes() == file_of(3)
    assert len(read_journal(path)[0]) == 3
    assert read_journal(path)[1] == ()


def test_the_journal_is_private_and_follows_no_link(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Journal.open(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    with pytest.raises(StoreError, match=r"link\.jsonl: cannot open the journal"):
        Journal.open(link)


def test_a_durable_record_is_one_write_and_one_fsync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal.open(tmp_path / "journal.jsonl")
    calls: list[str] = []
    write, fsync = os.write, os.fsync

    def counted_write(descriptor: int, data: bytes) -> int:
        calls.append("write")
        return write(descriptor, data)

    def counted_fsync(descriptor: int) -> None:
        calls.append("fsync")
        fsync(descriptor)

    monkeypatch.setattr(os, "write", counted_write)
    monkeypatch.setattr(os, "fsync", counted_fsync)
    journal.append(text_of(1))
    journal.append(text_of(2), durable=False)
    journal.append(text_of(3))
    journal.append(text_of(4), durable=False)
    journal.close()
    journal.close()
    assert calls == ["write", "fsync", "write", "write", "fsync", "write", "fsync"]


def test_after_a_failed_fsync_the_journal_refuses_every_further_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal.open(path)
    journal.append(text_of(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing_with(5))
        with pytest.raises(StoreError, match=r"cannot write a record: .* \(EIO\); the disk may"):
            journal.append(text_of(2))
    with pytest.raises(StoreError, match="failed to write before"):
        journal.append(text_of(3))
    journal.close()
    with pytest.raises(StoreError, match="is closed"):
        journal.append(text_of(4))


def failing_with(number: int) -> object:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_requests_during_a_background_sync_share_the_next_background_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal.open(path)
    began, goes_on = threading.Event(), threading.Event()
    synced: list[bytes] = []

    def slow(_descriptor: int) -> None:
        began.set()
        goes_on.wait(10)
        synced.append(path.read_bytes())

    monkeypatch.setattr(os, "fsync", slow)
    journal.append(text_of(1), durable=False)
    first = journal.sync_soon()
    assert began.wait(10)
    # The disk is busy, and the writer goes on.
    journal.append(text_of(2), durable=False)
    second = journal.sync_soon()
    journal.append(text_of(3), durable=False)
    third = journal.sync_soon()
    assert not first.done()
    goes_on.set()
    for future in (first, second, third):
        future.result(10)
    assert second is third
    assert len(synced) == 2
    assert synced[1] == encode_line(text_of(1)) + encode_line(text_of(2)) + encode_line(text_of(3))
    journal.close()


def test_a_durable_line_waits_for_a_running_background_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system tells a descriptor of a failed sync once, whoever asks first."""
    journal = Journal.open(tmp_path / "journal.jsonl")
    calls: list[str] = []
    begun, written = threading.Event(), threading.Event()
    write = os.write

    def noted(descriptor: int, data: bytes) -> int:
        size_bytes = write(descriptor, data)
        written.set()
        return size_bytes

    def fails_once(_descriptor: int) -> None:
        calls.append("fsync")
        if len(calls) == 1:
            begun.set()
            written.wait()
            raise OSError(5, os.strerror(5))

    journal.append(text_of(1), durable=False)
    monkeypatch.setattr(os, "write", noted)
    monkeypatch.setattr(os, "fsync", fails_once)
    journal.sync_soon()
    begun.wait()
    with pytest.raises(StoreError, match=r"cannot write a record: .* \(EIO\); the disk may"):
        journal.append(text_of(2))
    assert calls == ["fsync"]


@pytest.mark.parametrize("ends", ["append", "close", "future"])
def test_a_failed_background_sync_is_reported_and_ends_all_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    journal = Journal.open(tmp_path / "journal.jsonl")
    journal.append(text_of(1), durable=False)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing_with(5))
        future = journal.sync_soon()
        sentence = r"journal\.jsonl: cannot write a record: .* \(EIO\); the disk may"
        if ends == "close":
            with pytest.raises(StoreError, match=sentence):
                journal.close()
            return
        with pytest.raises(StoreError, match=sentence):
            future.result(10)
    if ends == "append":
        with pytest.raises(StoreError, match=sentence):
            journal.append(text_of(2), durable=False)
        with pytest.raises(StoreError, match="failed to write before"):
            journal.append(text_of(3))
        journal.close()


def test_a_missing_journal_is_reported_as_damage() -> None:
    lines, damage = read_journal(Path("/nowhere/journal.jsonl"))
    assert lines == ()
    assert [place.message for place in damage] == ["the journal is missing"]


def test_a_line_without_a_line_feed_above_the_maximum_length_is_damage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("netlab.store.journal.MAX_LINE_BYTES", 1000)
    lines, damage = decode(file_of(1) + b"x" * 10_000 + b"\n" + file_of(1) + b"y" * 5000)
    assert len(lines) == 2
    assert [str(place) for place in damage] == [
        f"line {number}: damaged: more than 1000 bytes without a line feed" for number in (2, 4)
    ]
    assert not any(place.torn for place in damage)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_in_a_journal_are_damage(number: str) -> None:
    lines, damage = decode(encode_line(f'{{"kind":"weather","at":"now","data":{{"n":{number}}}}}'))
    assert lines == ()
    assert [place.message for place in damage] == [
        "damaged: the text after its checksum is not a JSON object"
    ]
