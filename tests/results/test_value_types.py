"""Values and settings of the wrong type are refused, and every recorded run passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from folders import FIXTURES, ROOT

from netlab.results.run import load
from netlab.results.value_types import check_settings, check_values

RECORDED = sorted(
    path.parent for top in (ROOT / "reports", FIXTURES) for path in top.glob("*/run.json")
)


@pytest.mark.parametrize("folder", RECORDED, ids=lambda folder: folder.name)
def test_every_journal_line_of_a_recorded_run_is_read_except_a_damaged_one(folder: Path) -> None:
    """All lines except the one that was cut when it was recorded."""
    damage = [str(fault) for fault in load(folder).damage]
    assert damage in ([], ["line 10: damaged: the checksum does not match"])


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("throughput_bit_per_s", (0, 1.5, 2**63), ("x", -1, True, [1], 2**64)),
        ("to_client_throughput_bit_per_s", (1,), ("x", -1)),
        ("same_host", (True, False, 0, 1), (2, "yes", [True])),
        ("connected_by", ("server",), (1, True, ["server"])),
        ("rtt_histogram", ([1, 2], []), ("[1, 2]", 5, ["1"])),
        ("sweep_message_bytes", ([64, 1500],), ([0], [-1], [1.5], "64")),
        ("trial_client_busy_share", ([0.5],), (0.5, "x")),
        ("loss_own_drops", ([0, 3],), (3, "x")),
        ("receiver_gaps", ([1, 2], []), ([1.7e308, 1.7e308], [-1, 2], ["a"], 5, "x")),
        ("to_client_sender_late_ticks", ([1, 2],), ([1.5, 2.5], [2**64, 1])),
        ("receiver_gap_count", (0, 12), ("x", -1, [1])),
        ("captured_next_frames", ([1, 1],), ("x",)),
        ("sender_unheard_of", (1, "x", [1.5], True, 2**70), ([None], None, {}, 10**400)),
    ],
)
def test_a_value_of_the_wrong_type_for_its_column_is_refused(
    name: str, good: Any, bad: Any
) -> None:
    for value in good:
        check_values({name: value})
    for value in bad:
        with pytest.raises(ValueError, match=f"{name} is .*, and should be "):
            check_values({name: value})


def test_a_cell_without_the_required_settings_of_its_test_is_refused() -> None:
    check_settings("stream", {"protocol": "UDP"})
    check_settings("a test of tomorrow", {})
    with pytest.raises(ValueError, match="a cell of the test stream lacks protocol"):
        check_settings("stream", {"message_bytes": 64})
    with pytest.raises(ValueError, match="message_bytes is 0, and should be a whole number"):
        check_settings("stream", {"protocol": "UDP", "message_bytes": 0})
