"""Shipped matrices, made short, are measured whole on this machine."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from folders import MATRICES

from netlab.config.matrix_file import load_matrix, matrix_file, names
from netlab.errors import UsageError
from netlab.experiment.matrix import expand
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run
from netlab.store.reader import read
from netlab.trial.record import Record

ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
HOSTS = """\
hosts: {server: {local: true}, client: {local: true}}
pairs: {LL: [server, client]}
"""


def may_choose(congestion: str) -> bool:
    """Whether this machine lets this account choose it."""
    with socket.socket() as tcp:
        try:
            tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        except OSError:
            return False
    return True


def allowed_congestion(name: str) -> tuple[str, ...]:
    """What a matrix needs so that this account may run it: where the congestion control that it
    asks for is not for everybody here, one that is."""
    settings = [cell.settings for cell in expand(load_matrix(MATRICES / name))]
    algorithms = {str(setting["congestion"]) for setting in settings if "congestion" in setting}
    if all(map(may_choose, algorithms)):
        return ()
    return (f"congestion={ALLOWED.read_text().split()[0]}",)


def records(tmp_path: Path, name: str, *words: str) -> list[Record]:
    """What a run of the matrix left, the last word of each trial; every cell has all its trials."""
    hosts, folder = tmp_path / "hosts.yaml", tmp_path / "run"
    hosts.write_text(HOSTS)
    words = (*words, *allowed_congestion(name))
    overrides = {"pause": "0", **dict(word.split("=", 1) for word in words)}
    options = Options(matrix=MATRICES / name, hosts=hosts, into=folder, overrides=overrides)
    outcome = run(options, Progress(as_json=True))
    assert outcome.counts.keys() == {"ok"}
    stored = read(folder)
    matrix = load_matrix(MATRICES / name, overrides)
    assert stored.plan.content_hash == matrix.content_hash
    planned_trials = {
        (c.key, n) for c in stored.plan.cells for n in range(1, stored.plan.most_of(c) + 1)
    }
    assert stored.latest.keys() == planned_trials
    return list(stored.latest.values())


@pytest.mark.lab
def test_a_run_of_the_matrix_nettest_measures_the_repeats_and_counts_of_each_test(
    tmp_path: Path,
) -> None:
    run_records = records(tmp_path, "nettest.yaml", "scale=0.01")
    assert [(r.test, r.settings["protocol"]) for r in run_records if r.trial == 1] == [
        ("round_trip", "TCP"),
        ("stream", "TCP"),
        ("stream", "UDP"),
    ]
    assert sum(r.test == "round_trip" for r in run_records) == 10
    assert sum(r.settings["protocol"] == "UDP" for r in run_records) == 15
    assert {(str(r.status), r.reason) for r in run_records} == {("ok", None)}
    for record in run_records:
        if record.test == "round_trip":
            assert record.values["transactions"] == record.settings["count"] == 1000
        else:
            assert record.values["sent_messages"] == record.settings["count"] == 10_000


@pytest.mark.lab
def test_a_run_of_the_matrix_udp_mirror_measures_the_time_in_the_mirrors_network_stack(
    tmp_path: Path,
) -> None:
    run_records = records(tmp_path, "udp-mirror.yaml", "scale=0.1", "repeats=1")
    assert len(run_records) == 8
    assert {(str(r.status), r.reason) for r in run_records} == {("ok", None)}
    for record in run_records:
        count = 1000 if record.settings["message_bytes"] == 18 else 100
        answers, losses = record.values["transactions"], record.values["lost_messages"]
        assert isinstance(answers, int)
        assert isinstance(losses, int)
        assert answers + losses == count
        assert "server_stack_mean_ns" in record.values, record.values.keys()


@pytest.mark.lab
def test_a_run_of_the_matrix_payload_finds_the_payload_of_the_loopback(
    tmp_path: Path,
) -> None:
    run_records = records(tmp_path, "payload.yaml", "duration=20ms")
    assert {(r.settings["protocol"], r.settings["ip_version"]) for r in run_records} == {
        ("TCP", 4),
        ("TCP", 6),
        ("UDP", 4),
        ("UDP", 6),
    }
    assert {(str(r.status), r.reason) for r in run_records} == {("ok", None)}
    payloads = {
        (r.settings["protocol"], r.settings["ip_version"]): r.values["payload_bytes"]
        for r in run_records
    }
    # The loopback's MTU is 65536: over IPv4 the datagram's own length is the nearer bound.
    assert payloads["UDP", 4] == 65_507
    assert payloads["UDP", 6] == 65_536 - 40 - 8
    # A segment is no more than half of the receiver's window.
    for version in (4, 6):
        segment = payloads["TCP", version]
        assert isinstance(segment, int)
        assert 1448 < segment <= 65_536 - 40


def test_a_shipped_matrix_is_found_by_name_unless_a_file_of_that_name_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert names() == tuple(sorted(path.stem for path in MATRICES.glob("*.yaml")))
    assert matrix_file(Path("loopback")).read_bytes() == ((MATRICES / "loopback.yaml").read_bytes())
    with pytest.raises(UsageError, match=r"no file loopbak, and .* there are connection-kinds, "):
        matrix_file(Path("loopbak"))
    for path in ("mine.yaml", "folder/loopback", "./mine.yml"):
        assert matrix_file(Path(path)) == Path(path)
    Path("loopback").write_text("title: mine\n")
    assert matrix_file(Path("loopback")) == Path("loopback")
