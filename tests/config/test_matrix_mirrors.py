"""A matrix may name mirrors, and each fault of a named mirror is reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netlab.config.matrix_file import load_matrix
from netlab.errors import MatrixError, UsageError
from netlab.experiment.matrix import Matrix, NamedMirror, expand

PAGE = Path(__file__).parents[2] / "docs/how-to/mirrors.md"

MATRIX = """\
pairings: [LL]
mirrors:
  own: {start: "echo -a {address} 'two words' {port}"}
  away: {address: "fd00::7", port: 7}
tests:
  - test: round_trip
    protocol: UDP
    message_size: 64
    mirror: [netprobe, own, away]
"""


def matrix(folder: Path, text: str = MATRIX, **overrides: str) -> Matrix:
    (folder / "m.yaml").write_text(text)
    return load_matrix(folder / "m.yaml", overrides)


def test_each_named_mirror_makes_a_cell_and_netprobe_is_the_default_mirror(tmp_path: Path) -> None:
    read = matrix(tmp_path)
    assert read.mirrors == {
        "own": NamedMirror("own", ("echo", "-a", "{address}", "two words", "{port}")),
        "away": NamedMirror("away", address="fd00::7", port=7),
    }
    cells = expand(read)
    assert [cell.settings.get("mirror") for cell in cells] == [None, "own", "away"]
    plain = MATRIX.replace("    mirror: [netprobe, own, away]\n", "")
    plain = re.sub(r"mirrors:\n( .*\n)+?(?=tests)", "", plain)
    assert cells[0].key == expand(matrix(tmp_path, plain))[0].key


def test_the_matrix_in_the_documentation_of_mirrors_loads(tmp_path: Path) -> None:
    text = PAGE.read_text("utf-8")
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)
    read = matrix(tmp_path, example)
    assert len(expand(read)) == 4
    assert read.mirrors["own-stack"].interface == "own0"


def test_the_command_of_a_mirror_is_part_of_the_matrix_content(tmp_path: Path) -> None:
    one = matrix(tmp_path).content_hash
    assert matrix(tmp_path, MATRIX.replace("two words", "three")).content_hash != one
    assert matrix(tmp_path, MATRIX.replace("echo -a", "  echo   -a")).content_hash == one


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("own, away]", "onw, own, away]", "9:24: tests[0].mirror[1]: `onw` is not a mirror of"),
        (", away]", "]", "4:9: mirrors.away: no test uses this mirror: name it with `mirror`"),
        ("port: 7", "port: 0", "mirrors.away.port: 0 should be at least 1"),
        (', port: 7', "", "4:9: mirrors.away: give the mirror's `port`"),
        (" {port}", "", "or write {port} in `start`"),
        ("'two words'", "'two words", "No closing quotation"),
        ("fd00::7", "nowhere", "'nowhere' does not appear to be an IPv4 or IPv6 address"),
        ("fd00::7", "224.0.0.1", "224.0.0.1 is not the address of one host"),
        ('"echo -a', '"\\n echo -a', None),
        ("'two words'", "'two\\nwords'", "no word may contain a control character"),
        ("echo -a", "''", "should name a program"),
        ("  own: {", "  netprobe: {", "`netprobe` is netlab's own probe"),
        ("  own: {", "  'a b': {", "mirrors"),
        ("port: 7", "port: 7, interface: 'a;b'", "interface"),
        ("    message_size", "    server_receive: spinning\n    message_size", "only netprobe can"),
        ("    message_size", "    mirror_hold: 1ms\n    message_size", "only netprobe can:"),
        ("    message_size", "    response_size: 32\n    message_size", "only netprobe can:"),
    ],
)  # fmt: skip
def test_each_fault_of_a_named_mirror_is_reported(
    tmp_path: Path, old: str, new: str, fault: str | None
) -> None:
    text = MATRIX.replace(old, new, 1)
    assert text != MATRIX
    if fault is None:
        assert matrix(tmp_path, text).mirrors["own"].start[0] == "echo"
        return
    with pytest.raises(MatrixError) as raised:
        matrix(tmp_path, text)
    assert fault in str(raised.value)


def test_an_override_accepts_only_mirrors_of_the_matrix(tmp_path: Path) -> None:
    cells = expand(matrix(tmp_path, mirror="own"))
    assert [cell.settings.get("mirror") for cell in cells] == ["own"]
    with pytest.raises(UsageError, match="`owl` is not a mirror of this matrix; did you mean"):
        matrix(tmp_path, mirror="owl")
