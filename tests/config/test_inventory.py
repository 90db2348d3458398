"""An inventory is read, its faults are reported with places, and pairings resolve to hosts."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from netlab.config.inventory import load_inventory
from netlab.errors import MatrixError, UsageError
from netlab.experiment.hosts import Inventory, Mirror, SshTarget, local_os, parse_ssh

KEY = "ssh-ed25519 " + base64.b64encode(b"a public key").decode()

LAB = """\
hosts:
  bench-1: {os: L, ssh: ada@10.0.9.1:2222, address: 10.0.0.1}
  bench-2:
    os: L
    ssh: bench-2
    identity: ~/.ssh/lab
    host_key: SHA256:0123456789012345678901234567890123456789012
    port_range: 5001-5100
    addresses:
      test: [10.0.0.2, "fd00::2"]
      fibre: 10.0.1.2
  office: {os: W, ssh: "ada@[2001:db8::7]:22", address: 10.0.0.3}
"""

DUAL_BOOT = """\
hosts:
  left-linux: {os: L, ssh: left, address: 10.0.0.1, machine: left}
  left-windows: {os: W, ssh: left, address: 10.0.0.1, machine: left}
  right-linux: {os: L, ssh: right, address: 10.0.0.2, machine: right}
  right-windows: {os: W, ssh: right, address: 10.0.0.2, machine: right}
"""


def inventory(tmp_path: Path, text: str) -> Inventory:
    file = tmp_path / "hosts.yaml"
    file.write_text(text, encoding="utf-8")
    return load_inventory(file)


def names(hosts: Inventory, pairing: str) -> list[tuple[str, str]]:
    return [(server.name, client.name) for server, client in hosts.candidates(pairing)]


def faults(tmp_path: Path, text: str) -> list[tuple[int, int, str, str]]:
    with pytest.raises(MatrixError) as raised:
        inventory(tmp_path, text)
    return [(fault.line, fault.column, fault.path, fault.message) for fault in raised.value.faults]


def test_ssh_logins_keys_port_ranges_and_addresses_of_hosts_are_read_from_an_inventory(
    tmp_path: Path,
) -> None:
    hosts = inventory(tmp_path, LAB)
    host = hosts.host("bench-2")
    assert host.ssh == SshTarget("bench-2")
    assert host.identity == "~/.ssh/lab"
    assert host.host_key is not None
    assert host.host_key.startswith("SHA256:")
    assert host.port_range == (5001, 5100)
    assert host.address(None) == host.address("test", 4) == "10.0.0.2"
    assert host.address("test", 6) == "fd00::2"
    assert host.address("fibre") == "10.0.1.2"
    assert hosts.host("bench-1").ssh == SshTarget("10.0.9.1", "ada", 2222)
    assert hosts.host("office").ssh == SshTarget("2001:db8::7", "ada", 22)


def test_an_address_that_a_host_lacks_is_reported_with_host_and_network(tmp_path: Path) -> None:
    host = inventory(tmp_path, LAB).host("bench-2")
    with pytest.raises(UsageError, match=r"^host bench-2 has no IPv6 test address in network 'fib"):
        host.address("fibre", 6)
    with pytest.raises(UsageError, match=r"^host bench-2 has no IPv4 test address in network 'x'"):
        host.address("x")


def test_a_pairing_of_system_letters_selects_the_first_hosts_of_these_systems(
    tmp_path: Path,
) -> None:
    hosts = inventory(tmp_path, LAB)
    assert [host.name for host in hosts.pair("LL")] == ["bench-1", "bench-2"]
    assert [host.name for host in hosts.pair("WL")] == ["office", "bench-1"]
    assert [host.name for host in hosts.pair("LW")] == ["bench-1", "office"]
    with pytest.raises(UsageError, match="WW needs a Windows host on a second machine"):
        hosts.pair("WW")


@pytest.mark.parametrize(
    "pairs", ["pairs: {LL: [bench-2, bench-1]}", "pairs: {LL: {server: bench-2, client: bench-1}}"]
)
def test_a_pair_named_in_the_inventory_takes_precedence_over_the_order_of_hosts(
    tmp_path: Path, pairs: str
) -> None:
    hosts = inventory(tmp_path, LAB + pairs)
    assert names(hosts, "LL") == [("bench-2", "bench-1")]
    assert names(hosts, "LW")[0] == ("bench-1", "office")


def test_two_hosts_of_one_machine_are_never_a_pair(tmp_path: Path) -> None:
    hosts = inventory(tmp_path, DUAL_BOOT)
    assert names(hosts, "WL") == [
        ("left-windows", "right-linux"),
        ("right-windows", "left-linux"),
    ]
    assert names(hosts, "LL") == [("left-linux", "right-linux"), ("right-linux", "left-linux")]


def test_the_hosts_needed_for_a_pairing_include_all_systems_of_dual_boot_machines(
    tmp_path: Path,
) -> None:
    needed = inventory(tmp_path, DUAL_BOOT).needed(["WL"])
    assert [host.name for host in needed] == [
        "left-linux",
        "left-windows",
        "right-linux",
        "right-windows",
    ]
    assert [host.name for host in inventory(tmp_path, LAB).needed(["LL"])] == ["bench-1", "bench-2"]


def test_a_local_host_has_this_machines_system_and_the_loopback_addresses(tmp_path: Path) -> None:
    hosts = inventory(tmp_path, "hosts: {a: {local: true}, b: {local: true, os: L}}")
    host = hosts.host("a")
    assert host.os == local_os()
    assert (host.address(None), host.address(None, 6)) == ("127.0.0.1", "::1")


def test_a_matrix_with_a_hosts_section_is_read_as_an_inventory(tmp_path: Path) -> None:
    text = "title: x\ntests: []\npairings: [LL]\nhosts: {a: {local: true}, b: {local: true}}\n"
    assert [host.name for host in inventory(tmp_path, text).hosts] == ["a", "b"]


def test_an_inventory_without_hosts_is_refused_with_a_hint_to_the_option_hosts(
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match="has no `hosts:`; name the inventory with --hosts FILE"):
        inventory(tmp_path, "title: x\n")


def test_all_faults_of_an_inventory_are_reported_together_with_their_lines(tmp_path: Path) -> None:
    complaints = faults(
        tmp_path,
        """\
hosts:
  a: {os: L, ssh: "a b", address: 10.0.0.1}
  b:
    os: Q
    ssh: b
    adresses: {test: 10.0.0.2}
  c: {ssh: c, address: 10.0.0.3}
  d: {os: L, address: 10.0.0.4}
  e: {os: L, local: true, ssh: e, address: 10.0.0.5}
  f: {os: L, ssh: f, addresses: {test: [10.0.0.6, 10.0.0.7]}}
  g: {os: L, ssh: g, address: example.org}
  h: {os: L, ssh: h, address: 10.0.0.8, port_range: 9-3}
  i: {os: L, ssh: i, address: 10.0.0.9, host_key: ssh-dss}
""",
    )
    by_line = {line: (path, message) for line, _, path, message in complaints}
    assert by_line[2][0] == "hosts.a.ssh"
    assert "is neither user@host:port" in by_line[2][1]
    assert by_line[4] == ("hosts.b.os", "`Q` is not one of L, W, M, F, X")
    assert "did you mean `addresses`?" in by_line[6][1]
    assert "`os` is missing" in by_line[7][1]
    assert "either `ssh: user@host` or `local: true`" in by_line[8][1]
    assert "either `ssh: user@host` or `local: true`" in by_line[9][1]
    assert "two IPv4 addresses" in by_line[10][1]
    assert "'example.org' is not an IP address" in by_line[11][1]
    assert "'9-3' is not a range of ports" in by_line[12][1]
    assert "neither a public key" in by_line[13][1]


def test_invalid_pairs_in_an_inventory_are_refused_with_the_reason(tmp_path: Path) -> None:
    text = DUAL_BOOT + (
        "pairs:\n"
        "  LL: [left-linux, nobody]\n"
        "  WL: [left-linux, right-linux]\n"
        "  LW: [left-linux, left-windows]\n"
        "  WW: [left-windows, left-windows]\n"
        "  XY: [left-linux, right-linux]\n"
    )
    messages = {line: message for line, _, _, message in faults(tmp_path, text)}
    assert messages[7].startswith("no host is called 'nobody'; there are left-linux")
    assert messages[8] == "the server of WL needs `os: W`, but left-linux has `os: L`"
    assert messages[9] == "left-linux and left-windows have the same `machine: left`"
    assert messages[10] == "server and client are the same host: name two hosts"
    assert messages[11].startswith("not a pairing: write two of the letters")


def test_an_unknown_key_of_an_inventory_is_refused_with_the_nearest_key(tmp_path: Path) -> None:
    assert faults(tmp_path, LAB + "pair: {LL: [bench-1, bench-2]}\n") == [
        (13, 1, "pair", "not a key of an inventory; did you mean `pairs`?")
    ]


def test_a_host_key_may_be_a_public_key_with_a_comment(tmp_path: Path) -> None:
    text = f"hosts: {{a: {{os: L, ssh: a, address: 10.0.0.1, host_key: {KEY} a comment}}}}"
    assert inventory(tmp_path, text).host("a").host_key == f"{KEY} a comment"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("rack", SshTarget("rack")),
        ("ada@rack", SshTarget("rack", "ada")),
        ("rack:2222", SshTarget("rack", None, 2222)),
        ("ada@example.org@rack", SshTarget("rack", "ada@example.org")),
        ("LAB\\ada@rack", SshTarget("rack", "LAB\\ada")),
        ("[fd00::1]", SshTarget("fd00::1")),
        ("ada@[fe80::1%eth0]:22", SshTarget("fe80::1%eth0", "ada", 22)),
    ],
)
def test_every_form_of_an_ssh_login_is_parsed(text: str, target: SshTarget) -> None:
    assert parse_ssh(text) == target


@pytest.mark.parametrize(
    "text",
    ["", "a b", "-oProxyCommand=x", "ada@-x", "fd00::1", "rack:", "rack:0", "rack:99999", "a@"],
)
def test_an_invalid_ssh_login_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is neither user@host:port|is not a port"):
        parse_ssh(text)


MIRRORED = """\
hosts:
  echo: {os: L, mirror: {address: 10.0.0.9}}
  strange: {os: X, machine: board, mirror: {address: "fd00::9", port: 2007}}
  left: {os: L, ssh: left, address: 10.0.0.1}
  right: {os: L, ssh: right, addresses: {fibre: 10.0.1.2, test: 10.0.0.2}}
"""


def test_a_mirror_host_has_an_address_and_a_port_and_no_login(tmp_path: Path) -> None:
    hosts = inventory(tmp_path, MIRRORED)
    echo, strange = hosts.host("echo"), hosts.host("strange")
    assert echo.mirror == Mirror("10.0.0.9", 7)
    assert strange.mirror == Mirror("fd00::9", 2007)
    assert (echo.ssh, echo.local, dict(echo.addresses)) == (None, False, {})
    assert echo.address(None) == echo.address("fibre") == "10.0.0.9"
    assert strange.address(None, 6) == "fd00::9"
    with pytest.raises(UsageError, match=r"strange has no IPv4 address: it echoes at fd00::9"):
        strange.address(None, 4)


def test_a_mirror_host_is_the_last_choice_as_server_and_never_the_client(tmp_path: Path) -> None:
    hosts = inventory(tmp_path, MIRRORED)
    assert names(hosts, "LL") == [
        ("left", "right"),
        ("right", "left"),
        ("echo", "left"),
        ("echo", "right"),
    ]
    assert names(hosts, "XL") == [("strange", "left"), ("strange", "right")]
    with pytest.raises(
        UsageError, match="LX needs a host of another system that can be the client"
    ):
        hosts.pair("LX")
    pair_hosts = inventory(tmp_path, MIRRORED + "pairs: {LL: [echo, right]}")
    assert names(pair_hosts, "LL") == [("echo", "right")]


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("{os: L, mirror: {address: 10.0.0.9}, ssh: somebody}", "`ssh` has no effect"),
        ("{os: L, mirror: {address: 10.0.0.9}, address: 10.0.0.9}", "`addresses` has no effect"),
        ("{mirror: {address: 10.0.0.9}}", "the key `os` is missing"),
        ("{os: L, mirror: {address: 0.0.0.0}}", "is not the address of one host"),
        ("{os: L, mirror: {address: [10.0.0.9]}}", "should be an IP address"),
        ("{os: L, mirror: {address: 10.0.0.9, port: 0}}", "port"),
        ("{os: X, ssh: somebody, address: 10.0.0.9}", "give this host `mirror:` or `serves:`"),
    ],
)
def test_an_invalid_mirror_host_is_refused_at_its_place(
    tmp_path: Path, host: str, message: str
) -> None:
    ((line, _, path, complaint),) = faults(tmp_path, f"hosts:\n  odd: {host}\n")
    assert line == 2
    assert path.startswith("hosts.odd")
    assert message in complaint or message in path


def test_a_pair_with_a_mirror_host_as_client_is_refused(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, MIRRORED + "pairs: {LL: {server: left, client: echo}}")
    assert fault[2:] == (
        "pairs.LL.client",
        "echo is a mirror: it answers, and cannot be the client",
    )
