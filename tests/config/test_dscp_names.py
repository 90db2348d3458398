"""Code points by name, as RFC 4594 lists them (figure 3), wherever a matrix takes a number."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.config.matrix_file import load_matrix
from netlab.errors import NetlabError
from netlab.experiment.matrix import expand

BITS = {
    **{"CS7": "111000", "CS6": "110000", "CS5": "101000", "CS4": "100000", "CS3": "011000"},
    **{"CS2": "010000", "CS1": "001000", "CS0": "000000", "DF": "000000", "EF": "101110"},
    **{"AF41": "100010", "AF42": "100100", "AF43": "100110"},
    **{"AF31": "011010", "AF32": "011100", "AF33": "011110"},
    **{"AF21": "010010", "AF22": "010100", "AF23": "010110"},
    **{"AF11": "001010", "AF12": "001100", "AF13": "001110"},
}
"""Name → its six bits in the table of the RFC."""


def points(folder: Path, dscp: str, overrides: dict[str, str] | None = None) -> list[object]:
    file = folder / "m.yaml"
    file.write_text(
        "title: t\nhosts: {a: {local: true}}\npairings: [a+a]\n"
        f"tests: [{{test: stream, protocol: UDP, message_size: 64, dscp: {dscp}}}]\n"
    )
    return [cell.settings.get("dscp") for cell in expand(load_matrix(file, overrides))]


@pytest.mark.parametrize("name", [*BITS])
def test_each_name_is_its_number_in_any_case_of_letters(tmp_path: Path, name: str) -> None:
    expected = [int(BITS[name], 2)]
    assert points(tmp_path, name) == points(tmp_path, name.lower()) == expected
    assert points(tmp_path, "1", {"dscp": name}) == expected


def test_names_and_numbers_go_together_in_a_list_and_in_steps(tmp_path: Path) -> None:
    assert points(tmp_path, "[EF, 0, af13]") == [46, 0, 14]
    assert points(tmp_path, "{from: CS1, to: CS4, step: 8}") == [8, 16, 24, 32]


@pytest.mark.parametrize(
    ("dscp", "message"),
    [
        ("EFG", "EFG is not one of DF, EF, CS0, CS1,"),
        ("AF44", "AF44 is not one of"),
        ("64", "64 should be at most 63"),
        ("[EF, 46]", "the same value as number 1"),
        ("[[EF]]", "should be"),
        ("true", "should be"),
    ],
)
def test_what_is_no_code_point_is_refused(tmp_path: Path, dscp: str, message: str) -> None:
    with pytest.raises(NetlabError) as raised:
        points(tmp_path, dscp)
    assert message in str(raised.value)
