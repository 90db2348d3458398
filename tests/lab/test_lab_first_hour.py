"""The first hour with one's own hosts: init, measure, run, resume; beside iperf3."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from labs import inside, needs_a_lab, typed
from terminals import terminal

from netlab import lab, load, measure
from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
from netlab.lab.plan import LabOptions

pytestmark = [*needs_a_lab, pytest.mark.beside]

NAME = f"h{os.getpid()}"
STATED = ("--link", "100Mbit")


@pytest.fixture(scope="module")
def cable() -> Iterator[lab.LabState]:
    try:
        yield lab.up(LabOptions(name=NAME, linux=2, rate=100e6))
    finally:
        lab.down(NAME)


@pytest.fixture
def home(cable: lab.LabState, tmp_path: Path) -> Path:
    """Of a person who can log in to the hosts by name, and has never seen their keys."""
    ssh = tmp_path / "home" / ".ssh"
    ssh.mkdir(parents=True, mode=0o700)
    config_lines = [
        line
        for line in cable.ssh_config.read_text().splitlines()
        if "UserKnownHostsFile" not in line
    ]
    (ssh / "config").write_text("\n".join(config_lines) + "\n")
    return tmp_path / "home"


def netlab(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    process = typed(home, *words)
    assert "Traceback" not in process.stderr, process.stderr
    return process


def hosts_file(of: lab.LabState) -> Path:
    assert of.hosts_file is not None
    return of.hosts_file


def fingerprints(of: lab.LabState) -> dict[str, str]:
    """Host → its key as the inventory of the lab pins it."""
    return {host.name: str(host.host_key) for host in load_inventory(hosts_file(of)).hosts}


def test_init_names_unknown_host_keys_and_writes_nothing(home: Path) -> None:
    process = netlab(home, "init", "linux-a", "linux-b", "--yes")
    assert process.returncode == 4
    assert re.search(r"linux-[ab]: unknown host key ssh-\S+ SHA256:\S+; compare", process.stderr)
    assert "--host-key HOST=SHA256:" in process.stderr
    assert [file.name for file in home.iterdir()] == [".ssh"]


def test_init_refuses_a_wrong_host_key_despite_the_option_yes(home: Path) -> None:
    wrong = "SHA256:" + "A" * 43
    keys = ("--host-key", f"linux-a={wrong}", "--host-key", f"linux-b={wrong}")
    process = netlab(home, "init", "linux-a", "linux-b", "--yes", *keys)
    assert process.returncode == 4
    assert "not the one that" in process.stderr
    assert not (home / "lab.yaml").exists()


def test_the_inventory_and_the_matrix_of_init_can_be_planned_run_and_resumed(
    cable: lab.LabState, home: Path
) -> None:
    host_keys = fingerprints(cable)
    keys = [word for name, key in host_keys.items() for word in ("--host-key", f"{name}={key}")]
    process = netlab(home, "init", "linux-a", "linux-b", "--yes", *keys)
    assert process.returncode == 0, process.stderr
    inventory, matrix = home / "lab.yaml", home / "first.yaml"
    assert f"netlab run {matrix.name} --hosts {inventory.name}" in process.stdout
    assert re.search(
        r"^tests go over .* and .*\(test\).*: SSH does not use it$", process.stderr, re.M
    )
    hosts = load_inventory(inventory).hosts
    by_name = {host.name: host for host in hosts}
    for host in load_inventory(hosts_file(cable)).hosts:
        assert set(host.addresses["test"]) == set(by_name[host.name].addresses["test"])
    assert [(host.name, host.os, host.host_key) for host in hosts] == [
        (name, "L", key) for name, key in host_keys.items()
    ]
    assert load_matrix(matrix).pairings == ("LL",)
    plan_process = netlab(home, "plan", matrix.name, "--hosts", inventory.name)
    assert "cells x 3 trials" in plan_process.stdout
    short = ("--set", "duration=200ms", "--set", "repeats=1")
    words = ("run", matrix.name, "--hosts", inventory.name, "--into", "one", "--no-report")
    assert netlab(home, *words, *short, "--only", "stream").returncode == 0
    again = netlab(home, "resume", "one", "--no-report", "--json")
    assert again.returncode == 0, again.stderr
    # All that was asked for is there: no record is new.
    assert [json.loads(line)["type"] for line in again.stdout.splitlines()] == ["answer"]
    assert {record.status for record in load(home / "one").latest.values()} == {"ok"}


def test_init_does_not_overwrite_an_existing_inventory(home: Path) -> None:
    (home / "lab.yaml").write_text("mine\n")
    process = netlab(home, "init", "linux-a", "linux-b", "--yes")
    assert (process.returncode, process.stderr) == (
        2,
        "lab.yaml exists already; name another file (--hosts, --matrix)\n",
    )
    assert (home / "lab.yaml").read_text() == "mine\n"


@pytest.mark.night
@pytest.mark.needs("iperf3")
def test_netlab_measure_agrees_with_iperf3_within_1_percent(
    cable: lab.LabState, home: Path
) -> None:
    """In turns, three of each: their medians are within 1 %."""
    words = ("measure", "linux-a", "linux-b", "--hosts", str(cable.hosts_file), "--seconds", "2")
    to = load_inventory(hosts_file(cable)).host("linux-a").address(None)
    inside(cable, 0, "iperf3", "--server", "--daemon", "--bind", to, "--pidfile", f"{home}/pid")
    ours, theirs = [], []
    try:
        for number in range(3):
            process = netlab(home, *words, *STATED, "--into", f"m{number}")
            assert process.returncode == 0, process.stderr
            (record,) = load(home / f"m{number}").records
            ours.append(record.values["throughput_bit_per_s"])
            output = inside(
                cable, 1, "iperf3", "--client", to, "--time", "2", "--omit", "1", "--json"
            )
            theirs.append(json.loads(output)["end"]["sum_received"]["bits_per_second"])
    finally:
        os.kill(int((home / "pid").read_text().strip("\0\n ")), 15)
    assert sorted(ours)[1] == pytest.approx(sorted(theirs)[1], rel=0.01)


def test_measure_in_python_returns_the_throughput_between_two_hosts(
    cable: lab.LabState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = measure(
        "linux-a", "linux-b", hosts=hosts_file(cable), seconds=1, link="100Mbit", protocol="UDP"
    )
    (record,) = run.latest.values()
    assert (record.server, record.client) == ("linux-a", "linux-b")
    mean_bit_per_s = run.summary()["mean"].iloc[0]
    assert mean_bit_per_s == record.values["throughput_bit_per_s"]
    assert 1e6 < mean_bit_per_s < 1e9, "the cable has 100 Mbit/s"


def test_netlab_measure_prints_a_figure_each_second_and_then_the_limit(
    cable: lab.LabState, home: Path
) -> None:
    hosts = ("--hosts", str(cable.hosts_file))
    process = netlab(home, "measure", "linux-a", "linux-b", *hosts, "--seconds", "4", *STATED)
    assert process.returncode == 0, process.stderr
    seconds = re.findall(
        r"^ *([\d.]+) to +([\d.]+) s  [\d.]+ Mbit/s$", process.stderr, re.MULTILINE
    )
    # A disturbed trial is measured again: its figures begin at 0.0 s once more.
    begins = [number for number, (begin, _) in enumerate(seconds) if begin == "0.0"]
    (folder,) = (home / "runs").iterdir()
    (record,) = load(folder).latest.values()
    assert 1 <= len(begins) <= record.attempt, process.stderr
    # A machine that stands still skips a second.
    assert 2 <= len(seconds[begins[-1] :]) <= 4, process.stderr
    sentence = (
        r"^linux-b to linux-a over TCP: [\d.]+ Mbit/s, [\d.]+ % of the wire\s+ceiling; limit: "
    )
    assert re.search(sentence, process.stdout, re.MULTILINE), process.stdout
    assert f"more: netlab report runs/{folder.name}" in process.stdout
    assert netlab(home, "resume", f"runs/{folder.name}", "--no-report").returncode == 0


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        (("--latency",), r"^Mean round trip: [\d.]+ µs, 99 % within "),
        (("--both",), r"^linux-b to linux-a .*\nlinux-a to linux-b "),
        (
            ("--udp", "--size", "1400", "--reverse", "--ipv6"),
            r"^linux-a to linux-b over UDP: [\d.]+ Mbit/s, [\d.]+ % of the wire",
        ),
    ],
    ids=["latency", "both", "udp-reverse-ipv6"],
)
def test_netlab_measure_prints_figures_for_latency_both_directions_and_reverse_udp_over_ipv6(
    cable: lab.LabState, home: Path, options: tuple[str, ...], pattern: str
) -> None:
    words = ("measure", "linux-a", "linux-b", "--hosts", str(cable.hosts_file), "--seconds", "1")
    process = netlab(home, *words, *STATED, *options)
    assert process.returncode == 0, process.stderr
    assert re.search(pattern, process.stdout, re.MULTILINE), process.stdout


SILENT = {
    "udp": (("--udp", "--size", "1000"), "udp length 1008"),
    "tcp": ((), "meta l4proto tcp meta length > 1000"),
    "latency": (("--latency", "--size", "600"), "meta l4proto tcp meta length 600-700"),
}
"""Options of `netlab measure`, and the packets of this measurement alone: those of the check before
it pass."""


@pytest.mark.needs("nft")
@pytest.mark.parametrize("kind", [*SILENT])
def test_a_measurement_of_which_nothing_arrives_ends_within_2_s_of_the_time_that_it_states(
    cable: lab.LabState, home: Path, kind: str
) -> None:
    options, packets = SILENT[kind]
    rules = home / "rules.nft"
    rules.write_text(
        "table inet silent {\n  chain test {\n    type filter hook input priority 0;\n"
        f"    iifname test {packets} drop\n  }}\n}}\n"
    )
    inside(cable, 0, "nft", "-f", str(rules))
    hosts = ("--hosts", str(cable.hosts_file), "--into", "silent")
    words = ("measure", "linux-a", "linux-b", *hosts, "--seconds", "2", *STATED, *options)
    try:
        process = netlab(home, *words)
    finally:
        inside(cable, 0, "nft", "delete", "table", "inet", "silent")
    assert process.returncode == 3, process.stderr
    stated_s = float(re.findall(r"^ready at .*; takes ([\d.]+) s", process.stderr, re.MULTILINE)[0])
    lines = (home / "silent" / "journal.jsonl").read_text().splitlines()
    notes = [json.loads(line.partition(" ")[2]) for line in lines]
    (begun,) = [note for note in notes if note["kind"] == "attempt"]
    (ended,) = [note for note in notes if note["kind"] == "session-end"]
    took = datetime.fromisoformat(ended["at"]) - datetime.fromisoformat(begun["at"])
    assert took.total_seconds() <= stated_s + 2, process.stderr
    if kind == "latency":
        assert "no-answer" in process.stderr
        return
    place = re.search(
        r"no-traffic: (\d+) packets(?: of \d+ messages)? left linux-b, (\d+) reached linux-a: "
        r"dropped in linux-a",
        process.stderr,
    )
    assert place is not None, process.stderr
    assert int(place[2]) > int(place[1]) / 2


def test_a_measurement_without_the_rate_of_the_link_says_what_would_make_the_limit_known(
    cable: lab.LabState, home: Path
) -> None:
    words = ("measure", "linux-a", "linux-b", "--hosts", str(cable.hosts_file), "--seconds", "1")
    process = netlab(home, *words)
    assert process.returncode == 0, process.stderr
    assert "rates of the interfaces: unknown" in process.stderr, "a virtual interface has none"
    why = "Unknown: the link’s rate is not stated: give it with --link, or in the matrix."
    assert why in process.stdout.splitlines()
    stated = netlab(home, *words, *STATED)
    assert "Unknown: " not in stated.stdout


def test_netlab_measure_takes_host_names_of_the_ssh_configuration(
    cable: lab.LabState, home: Path
) -> None:
    known_hosts = home / ".ssh" / "known_hosts"
    known_hosts.write_text(cable.ssh_config.with_name("known_hosts").read_text())
    process = netlab(home, "measure", "linux-a", "linux-b", "--print-matrix")
    assert process.returncode == 0, process.stderr
    # SSH uses the management network, which both are in as well.
    assert load_inventory(hosts_file(cable)).host("linux-a").address(None) in process.stdout
    matrix = home / "asked.yaml"
    matrix.write_text(process.stdout)
    assert load_matrix(matrix).pairings == ("linux-a+linux-b",)
    strange = netlab(home, "measure", "linux-a", "linux-b", "--to", "203.0.113.9")
    assert strange.returncode == 2
    assert "--to 203.0.113.9: linux-a does not have this address; it has " in strange.stderr


def test_init_asks_about_a_key_on_a_terminal_and_writes_nothing_after_a_no(
    cable: lab.LabState, home: Path
) -> None:
    """What is typed is read from the terminal; without a yes nothing is written."""
    with terminal() as screen:
        child = subprocess.Popen(
            [sys.executable, "-m", "netlab", "init", "linux-a", "linux-b"],
            cwd=home,
            env={**os.environ, "HOME": str(home), "COLUMNS": "200"},
            stdin=screen.end,
            stdout=subprocess.PIPE,
            stderr=screen.end,
        )
        screen.type("n\n")
        child.communicate(timeout=300)
        text = screen.written().decode()
    assert child.returncode == 4
    assert "Is it the same?" in text
    assert re.search(r"linux-[ab] has the key ssh-\S+ SHA256:", text)
    assert not (home / "lab.yaml").exists()
