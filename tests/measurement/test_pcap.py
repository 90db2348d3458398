"""Captures of every byte order are read, also truncated ones."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.measurement.capture import NoCapture, captured_frames, of_frames


def frame_lengths(content: bytes) -> list[int]:
    return [frame.frame_bytes for frame in captured_frames(content)]


MAGIC = {
    "<": [b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"],
    ">": [b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d"],
}


def capture(frames: list[int], order: str = "<", kind: int = 0, link: int = 1) -> bytes:
    content = MAGIC[order][kind] + struct.pack(order + "HHiIII", 2, 4, 0, 0, 96, link)
    for length in frames:
        snap_length = min(length, 96)
        content += struct.pack(order + "IIII", 1, 2, snap_length, length) + b"x" * snap_length
    return content


@given(st.lists(st.integers(14, 9014)), st.sampled_from("<>"), st.sampled_from([0, 1]))
def test_every_captured_frame_has_its_length_on_the_link(
    frames: list[int], order: str, kind: int
) -> None:
    content = capture(frames, order, kind)
    assert frame_lengths(content) == frames
    lengths = sorted(set(frames))
    numbers = [frames.count(length) for length in lengths]
    assert of_frames("", content) == {"frame_bytes": lengths, "frames": numbers}


@given(st.lists(st.integers(14, 9014), min_size=1), st.data())
def test_a_truncated_capture_gives_its_whole_frames(frames: list[int], data: st.DataObject) -> None:
    content = capture(frames)
    end = data.draw(st.integers(24, len(content)))
    lengths = frame_lengths(content[:end])
    assert lengths == frames[: len(lengths)]
    assert len(lengths) == len(frames) if end == len(content) else len(lengths) < len(frames)


@pytest.mark.parametrize("noise", [b"", b"tcpdump: permission denied", b"\xd4\xc3\xb2\xa1"])
def test_bytes_that_are_no_pcap_are_refused(noise: bytes) -> None:
    with pytest.raises(ValueError, match="not a capture in the pcap format"):
        frame_lengths(noise)


def test_a_capture_of_another_link_type_is_refused() -> None:
    for frames in ([], [60]):
        with pytest.raises(NoCapture, match="link type 113"):
            of_frames("", capture(frames, link=113))
