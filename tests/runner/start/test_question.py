"""The matrix of a question: `netlab run` accepts it for every question and host."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from draws import seeds

from netlab.cli import cli
from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
from netlab.errors import UsageError
from netlab.ethernet import Link
from netlab.experiment.hosts import Host, Mirror, SshTarget
from netlab.experiment.matrix import expand
from netlab.kinds import RoundTrip, Stream
from netlab.runner.two_hosts import Question, matrix_text

SERVER = Host(
    name="nas",
    os="L",
    ssh=SshTarget("2001:db8::1", "lab", 2222),
    addresses={"test": ("10.0.0.1",)},
    host_key="SHA256:" + "A" * 43,
    port_range=(5001, 5100),
    identity="~/keys/it's mine",
    machine="rack: 1",
)
CLIENT = Host(name="win-1", os="W", ssh=SshTarget("w"), addresses={"test": ("10.0.0.2",)})
HERE = Host(name="here", os="L", local=True, addresses={"loopback": ("127.0.0.1", "::1")})


def written(folder: Path, text: str) -> Path:
    file = folder / "matrix.yaml"
    file.write_text(text)
    return file


def test_the_matrix_made_for_netlab_measure_contains_its_hosts_and_link_unchanged(
    tmp_path: Path,
) -> None:
    for link in (Link(1e9, 9000), Link(1e9, 1420, overhead_bytes=60)):
        file = written(tmp_path, matrix_text(Question(), SERVER, CLIENT, link, 4))
        assert load_inventory(file).hosts == (SERVER, CLIENT)
        matrix = load_matrix(file)
        assert matrix.link == link
        (cell,) = expand(matrix)
        assert (cell.pairing, cell.setup.protocol) == ("nas+win-1", "TCP")


def test_the_tunnel_of_the_command_line_is_in_the_matrix_and_needs_the_rate_of_the_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["measure", "--overhead", "60", "--mtu", "1420", "--print-matrix"]
    printed = CliRunner().invoke(cli, [*words, "--link", "1Gbit"])
    assert "link: {rate: 1000000000, mtu: 1420, overhead: 60}\n" in printed.output
    for without in (words, words[:3]):
        outcome = CliRunner().invoke(cli, without)
        assert isinstance(outcome.exception, UsageError)
        assert "give its rate with --link" in str(outcome.exception)


def test_the_matrix_made_for_netlab_measure_contains_its_mirror(tmp_path: Path) -> None:
    mirror = Host(name="echo", os="X", mirror=Mirror("192.0.2.7", 7))
    text = matrix_text(Question(latency=True), mirror, CLIENT, None, 4)
    assert load_inventory(written(tmp_path, text)).hosts[0] == mirror


def test_the_matrix_made_for_netlab_measure_names_this_machine_once(tmp_path: Path) -> None:
    text = matrix_text(Question(), HERE, HERE, None, 4)
    assert text.count("local: true") == 1
    (cell,) = expand(load_matrix(written(tmp_path, text)))
    assert cell.pairing == "here+here"


@pytest.mark.parametrize("seed", seeds(10, 200))
def test_the_matrix_made_for_netlab_measure_has_one_cell_with_the_requested_settings(
    tmp_path: Path, seed: int
) -> None:
    draw = Random(seed)  # noqa: S311
    latency = draw.random() < 0.3
    udp = draw.random() < 0.5
    size = draw.choice([None, 1, 64, 1472])
    question = Question(
        protocol="UDP" if udp else "TCP",
        message_bytes=size,
        direction="client-sends" if latency else draw.choice(["server-sends", "both"]),
        latency=latency,
        seconds=draw.choice([0.5, 5.0, 60.0]),
        streams=1 if latency else draw.choice([1, 4]),
        rate_bit_per_s=None if latency else draw.choice([None, 5e6]),
        dscp=draw.choice([None, "EF", "cs6", "0"]),
        cpus=draw.choice([None, {"server": "2"}, {"client": "3", "server": "0"}]),
    )
    version = draw.choice([4, 6])
    link = draw.choice([None, Link(1e8, 1500)])
    text = matrix_text(question, SERVER, CLIENT, link, version)
    if version == 6:
        text = text.replace("10.0.0.", "fd00::")
    (cell,) = expand(load_matrix(written(tmp_path, text)))
    setup = cell.setup
    assert (setup.protocol, setup.ip_version) == (question.protocol, version)
    assert setup.duration_s == question.seconds
    assert setup.dscp == {"EF": 46, "cs6": 48, "0": 0}.get(question.dscp or "")
    key, kind = ("cpu", int) if latency else ("cpus", str)
    for end in ("server", "client"):
        asked = (question.cpus or {}).get(end)
        assert setup.settings().get(f"{end}_{key}") == (None if asked is None else kind(asked))
    if latency:
        assert isinstance(setup, RoundTrip)
        assert setup.message_bytes == (size or 64)
        return
    assert isinstance(setup, Stream)
    assert (setup.direction, setup.streams) == (question.direction, question.streams)
    assert setup.receive == ("adaptive" if question.rate_bit_per_s is None else "blocking")
    usual = {4: 1472, 6: 1452}[version] if udp else 128 * 1024
    if question.rate_bit_per_s is None or size is not None:
        assert setup.message_bytes == (size or usual)
    assert setup.rate_bit_per_s == question.rate_bit_per_s


@pytest.mark.parametrize("seed", seeds(40, 1000))
def test_at_a_low_rate_at_least_20_messages_of_each_stream_leave_a_second(
    tmp_path: Path, seed: int
) -> None:
    draw = Random(seed)  # noqa: S311
    question = Question(
        protocol=draw.choice(["TCP", "UDP"]),
        seconds=draw.choice([0.1, 1.0, 5.0, 60.0]),
        streams=draw.choice([1, 1, 4]),
        rate_bit_per_s=10 ** draw.uniform(2, 11),
    )
    (cell,) = expand(load_matrix(written(tmp_path, matrix_text(question, HERE, HERE, None, 4))))
    assert isinstance(cell.setup, Stream)
    size = cell.setup.message_bytes
    assert question.rate_bit_per_s is not None
    per_s = question.rate_bit_per_s / question.streams / 8 / size
    usual = 1472 if question.protocol == "UDP" else 128 * 1024
    assert 16 <= size <= usual
    assert size == 16 or (per_s >= 20 and per_s * question.seconds >= 39)
    # No smaller than it has to be.
    larger = size + 1
    needed = max(20, 40 / question.seconds)
    assert size == usual or per_s * size / larger < needed


def test_a_message_size_that_the_user_gives_stays_at_a_low_rate(tmp_path: Path) -> None:
    question = Question(rate_bit_per_s=1e4, message_bytes=65536)
    (cell,) = expand(load_matrix(written(tmp_path, matrix_text(question, HERE, HERE, None, 4))))
    assert isinstance(cell.setup, Stream)
    assert cell.setup.message_bytes == 65536


WRONG = {
    "--size": ("0", "-1", "64K", "70000", "20MiB", "1.5", "1e300", "''", "x", "9" * 50),
    "--rate": ("0", "0.1", "1e14", "-5", "fast", "1MBps", "20000Gbit"),
    "--link": ("0", "0.4", "1e14", "fast", "100000Gbit"),
    "--dscp": ("64", "-1", "EFG", "AF44", "CS8", "1.5", "''", "9" * 5000, "²", "no", "[1]"),
    "--cpus": ("", "x", "5000", "-1", "1-", "2,2", "server=2,server=3", "server=", "mid=3", "3-1"),
    "--to": ("nas", "10.0.0", "10.0.0.1/24", "1::2::3"),
    "--mtu": ("67", "70000"),
    "--seconds": ("0", "4000", "x"),
    "--streams": ("0", "129", "x"),
}
"""Option → values with which nothing can be measured."""


@pytest.mark.parametrize("seed", seeds(150, 3000))
def test_a_wrong_value_of_an_option_is_reported_with_the_name_of_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = Random(seed)  # noqa: S311
    monkeypatch.chdir(tmp_path)
    option = draw.choice([*WRONG])
    value = draw.choice(WRONG[option])
    kind = draw.choice([["--udp"], [], ["--load"], ["--udp", "--load"], ["--latency"]])
    if option in ("--rate", "--streams") and "--latency" in kind:
        kind = []
    if value == "70000" and option == "--size":
        kind = draw.choice([["--udp"], ["--udp", "--load"], ["--latency", "--udp"]])
    words = ["measure", *kind, f"{option}={value}", "--print-matrix"]
    if option == "--mtu":
        words += ["--link", "100Mbit"]
    outcome = CliRunner().invoke(cli, words)
    error = outcome.exception
    text = str(error) if isinstance(error, UsageError) else outcome.output
    assert isinstance(error, UsageError | SystemExit), repr(error)
    assert option in text, text
    for line in text.splitlines() if isinstance(error, UsageError) else ():
        assert line.startswith(f"{option}: "), text
    assert "measure.yaml" not in text
    assert "tests[" not in text
    assert not re.search(r"`(replace|exclude|defaults|load|request_\w+)", text), text


def test_netlab_measure_with_more_than_64_streams_uses_blocking_receive_calls(
    tmp_path: Path,
) -> None:
    for streams, way in ((64, "adaptive"), (65, "blocking")):
        text = matrix_text(Question(streams=streams), SERVER, CLIENT, None, 4)
        (cell,) = expand(load_matrix(written(tmp_path, text)))
        assert isinstance(cell.setup, Stream)
        assert cell.setup.receive == way
