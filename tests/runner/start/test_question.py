"""The matrix of a question: `netlab run` accepts it for every question and host."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from draws import seeds

from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
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
    file = written(tmp_path, matrix_text(Question(), SERVER, CLIENT, Link(1e9, 9000), 4))
    assert load_inventory(file).hosts == (SERVER, CLIENT)
    matrix = load_matrix(file)
    assert matrix.link == Link(1e9, 9000)
    (cell,) = expand(matrix)
    assert (cell.pairing, cell.setup.protocol) == ("nas+win-1", "TCP")


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
        rate=None if latency else draw.choice([None, "5Mbit"]),
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
    if latency:
        assert isinstance(setup, RoundTrip)
        assert setup.message_bytes == (size or 64)
        return
    assert isinstance(setup, Stream)
    assert (setup.direction, setup.streams) == (question.direction, question.streams)
    assert setup.receive == ("adaptive" if question.rate is None else "blocking")
    usual = {4: 1472, 6: 1452}[version] if udp else 128 * 1024
    assert setup.message_bytes == (size or usual)
    assert setup.rate_bit_per_s == (None if question.rate is None else 5e6)


def test_netlab_measure_with_more_than_64_streams_uses_blocking_receive_calls(
    tmp_path: Path,
) -> None:
    for streams, way in ((64, "adaptive"), (65, "blocking")):
        text = matrix_text(Question(streams=streams), SERVER, CLIENT, None, 4)
        (cell,) = expand(load_matrix(written(tmp_path, text)))
        assert isinstance(cell.setup, Stream)
        assert cell.setup.receive == way
