"""Variants of a matrix make an axis of states, and each fault of a variant is reported."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from netlab.config.matrix_file import load_matrix
from netlab.errors import MatrixError, UsageError
from netlab.experiment.matrix import Matrix, expand
from netlab.experiment.variants import Change
from netlab.runner.planning import commands_of

PAGE = Path(__file__).parents[3] / "docs/how-to/variants.md"

MATRIX = """\
pairings: [LL]
variants:
  offload:
    on: {client: {enter: "sudo -n ethtool -K {interface} gso on tso on", check: "ethtool -k {interface}", restore: as found}}
    off: {client: {enter: "sudo -n ethtool -K {interface} gso off tso off", check: "ethtool -k {interface}", restore: as found}}
  ecn:
    found: {}
    wanted: {both: {sysctl: {net.ipv4.tcp_ecn: 1}, sudo: true}, settle: 2s}
tests:
  - {test: stream, protocol: TCP, message_size: 64KiB}
  - {test: round_trip, protocol: UDP, message_size: 64, variant: [as-found, offload=off]}
compare:
  - {name: offload, baseline: {test: stream, variant: ecn=found offload=on}, contender: {test: stream, variant: ecn=found offload=off}}
"""  # noqa: E501


def matrix(folder: Path, text: str = MATRIX, **overrides: str) -> Matrix:
    (folder / "m.yaml").write_text(text)
    return load_matrix(folder / "m.yaml", overrides)


def levels(read: Matrix) -> list[object]:
    return [cell.settings.get("variant") for cell in expand(read)]


def test_every_test_has_every_combination_of_states_unless_the_test_names_variants(
    tmp_path: Path,
) -> None:
    read = matrix(tmp_path)
    assert levels(read) == [
        *("ecn=found offload=on", "ecn=wanted offload=on"),
        *("ecn=found offload=off", "ecn=wanted offload=off"),
        *(None, "offload=off"),
    ]
    assert levels(matrix(tmp_path, variant="offload=off")) == ["offload=off"] * 2
    assert levels(matrix(tmp_path, variant="as-found")) == [None, None]
    (comparison,) = read.comparisons
    assert comparison.baseline["variant"] == "ecn=found offload=on"


def test_a_variant_with_a_known_command_restores_the_setting_to_the_value_found_before(
    tmp_path: Path,
) -> None:
    read = matrix(tmp_path)
    wanted = (("gso", "off"), ("tso", "off"))
    assert read.variants["offload"]["off"].client == (
        Change(
            enter=("sudo", "-n", "ethtool", "-K", "{interface}", "gso", "off", "tso", "off"),
            check=("ethtool", "-k", "{interface}"),
            known="offloads",
            wanted=wanted,
            prefix=("sudo", "-n"),
        ),
    )
    assert read.variants["ecn"]["found"].client == ()
    state = read.variants["ecn"]["wanted"]
    assert state.client == state.server
    assert (state.client[0].enter, state.settle_s) == (
        ("sudo", "-n", "sysctl", "-w", "net.ipv4.tcp_ecn=1"),
        2.0,
    )
    assert [commands.restore for commands in commands_of(read.variants)] == [
        *[("sudo -n ethtool -K {interface} gso FOUND tso FOUND",)] * 2,
        *[("sudo -n sysctl -w net.ipv4.tcp_ecn=FOUND",)] * 2,
    ]


def test_commands_of_variants_are_part_of_the_content_but_the_switching_order_is_not(
    tmp_path: Path,
) -> None:
    one = matrix(tmp_path)
    assert json.loads(json.dumps(one.content)) == one.content
    assert matrix(tmp_path, MATRIX.replace("gso off", "gro off")).content_hash != one.content_hash
    switched = matrix(tmp_path, MATRIX + "switching: interleaved\n")
    assert (switched.content_hash, switched.switching) == (one.content_hash, "interleaved")


def test_a_matrix_without_variants_has_no_variant_in_cells_and_content(tmp_path: Path) -> None:
    text = re.sub(r"variants:\n( .*\n)+?(?=tests)", "", MATRIX).partition("compare")[0]
    text = text.replace(", variant: [as-found, offload=off]", "")
    assert levels(matrix(tmp_path, text)) == [None, None]
    assert "variants" not in matrix(tmp_path, text).content


FAULTS = [
    ("offload=off]", "offload=of]", "11:77: tests[1].variant[1]: `of` is not a state of `offload`"),
    ("offload=off]", "tso=off]", "11:77: tests[1].variant[1]: `tso` is not a group"),
    ("offload=off]", "offload]", "11:77: tests[1].variant[1]: `offload` names no state"),
    ("offload=off]", "offload=off ecn=found]", "sort the groups: `ecn=found offload=off`"),
    ("offload=off]", "offload=off offload=on]", "names two states of offload"),
    ("restore: as found}}\n    off", "}}\n    off", "needs `restore` as well"),
    ('check: "ethtool -k {interface}", ', "", "needs `check` as well"),
    ("gso on tso on", "gso on tso", "`as found` is not possible"),
    ("sudo -n ethtool -K", "nice ethtool -K", "`as found` is not possible"),
    ("gso on tso on", "gso {on}", "{on} is not a placeholder"),
    ("net.ipv4.tcp_ecn: 1", "net.ipv4.tcp_ecn: true", "should be a text or a whole number"),
    ("net.ipv4.tcp_ecn: 1", "'-w': 1", "`-w`"),
    ("found: {}", "found: {both: {}}", "changes nothing"),
    ("found: {}", "found: {both: {expect: x}}", "`expect` is for a command of your own"),
    ("found: {}", 'found: {both: {enter: a, check: b, restore: c, expect: "("}}', "expression"),
    ("found: {}", "found: {both: {enter: a, check: b, restore: c, sudo: true}}", "write sudo into"),
    ("found: {}", "found: {both: {governor: perf;ormance}}", "governor"),
    ("found: {}", "found: {both: {interrupts: 0-3;8}}", "interrupts"),
    ("found: {}", "'a=b': {}", "a=b"),
    ("settle: 2s", "settle: -1s", "settle"),
]


@pytest.mark.parametrize(("old", "new", "fault"), FAULTS)
def test_each_fault_of_a_variant_is_reported(
    tmp_path: Path, old: str, new: str, fault: str
) -> None:
    assert old in MATRIX
    with pytest.raises(MatrixError) as caught:
        matrix(tmp_path, MATRIX.replace(old, new, 1))
    assert fault in str(caught.value)
    assert all(line.startswith(str(tmp_path)) for line in str(caught.value).splitlines())


def test_too_many_combinations_of_variants_are_refused(tmp_path: Path) -> None:
    states = ", ".join(f"s{number}: {{}}" for number in range(20))
    groups = "".join(f"  g{number}: {{{states}}}\n" for number in range(9))
    text = f"pairings: [LL]\nvariants:\n{groups}tests: [{{test: connect}}]\n"
    with pytest.raises(MatrixError, match="combinations of states are too many; at most 1,000"):
        matrix(tmp_path, text)


def test_an_override_accepts_only_variants_of_the_matrix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`slow` is not a state of `offload`"):
        matrix(tmp_path, variant="offload=slow")


def test_the_matrices_in_the_documentation_of_variants_load(tmp_path: Path) -> None:
    offload, control = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    read = matrix(tmp_path, offload)
    assert [*read.variants] == ["offload", "congestion"]
    assert len(expand(read)) == 4
    read = matrix(tmp_path, control)
    assert [cell.settings["congestion"] for cell in expand(read)] == ["cubic", "bbr"]
    assert len(read.comparisons) == 1


def test_a_link_must_state_the_largest_mtu_of_the_variants(tmp_path: Path) -> None:
    text = MATRIX.replace("found: {}", "found: {both: {mtu: 9000}}")
    matrix(tmp_path, text)
    matrix(tmp_path, text + "link: {rate: 1Gbit, mtu: 9000}\n")
    for link, place in (
        ("rate: 1Gbit", "14:7: link:"),
        ("mtu: 8999, rate: 1Gbit", "14:13: link.mtu:"),
    ):
        with pytest.raises(MatrixError) as caught:
            matrix(tmp_path, f"{text}link: {{{link}}}\n")
        assert place in str(caught.value)
        assert "is less than the MTU of a variant: state `mtu: 9000`" in str(caught.value)
