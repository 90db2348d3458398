"""The rule of the lab's ``sudo``, as a pure function: what it accepts, and what it refuses."""

from __future__ import annotations

import re

import pytest
from draws import chance, drawn

from netlab.lab.sudo.helper import RefusalError, accepted

INTERFACES = ("test", "second")
ALGORITHMS = ("reno", "cubic")

ALLOWED = """\
-n ethtool -K test gso off
ethtool -K test tx-udp_tnl-segmentation on gro off
-n /usr/sbin/ethtool -k second
/sbin/ethtool -C test rx-usecs 0 adaptive-rx off
-n ethtool -G test rx 4096
-n ethtool -A test rx on tx off
-n ethtool -L test combined 1
-n ethtool -S test
-n sysctl net.ipv4.tcp_ecn=1
-n sysctl -w net.ipv4.tcp_ecn=1 net.core.somaxconn=10
-n sysctl -w net/ipv4/conf/test/rp_filter=0
-n sysctl -w net.ipv6.conf.test.hop_limit=64
-n sysctl -w net.ipv4.tcp_congestion_control=reno
-n ip link set dev test mtu 1280
-n ip link set second mtu 65535
"""

REFUSED = """\
-n
-n -n ethtool -k test
-u root ethtool -k test
-E ethtool -k test
-s
-l
-i
sh -c id
-n sh
-n id
-n env ethtool -k test
-n /tmp/ethtool -k test
-n ./ethtool -k test
-n /usr/sbin/../../tmp/ethtool -k test
-n tc qdisc add dev test root netem delay 1ms
-n ethtool
-n ethtool test
-n ethtool -K
-n ethtool -K test
-n ethtool -K test gso
-n ethtool -K test gso off gro
-n ethtool -K management gso off
-n ethtool -K eth0 gso off
-n ethtool -K lo gso off
-n ethtool -K test;id gso off
-n ethtool -K test gso off;id
-n ethtool -K test gso $(id)
-n ethtool -K test -K off
-n ethtool -k test --json
-n ethtool -Q test queue_mask 1 -C rx-usecs 1
-n ethtool -s test speed 10
-n ethtool -f test file
-n ethtool -E test magic 1
-n ethtool --debug 1 -k test
-n ethtool --json -k test
-n ethtool -K * gso off
-n sysctl
-n sysctl -w
-n sysctl -a
-n sysctl -p
-n sysctl -p /tmp/file
-n sysctl -p/tmp/file
-n sysctl --load=/tmp/file
-n sysctl --load /tmp/file
-n sysctl -f
-n sysctl --system
-n sysctl -w -w net.ipv4.tcp_ecn=1
-n sysctl -w -p net.ipv4.tcp_ecn=1
-n sysctl -w net.ipv4.tcp_ecn=1 -p
-n sysctl -e net.ipv4.tcp_ecn=1
-n sysctl -r . net.ipv4.tcp_ecn=1
-n sysctl net.ipv4.tcp_ecn
-n sysctl net.ipv4.tcp_ecn=
-n sysctl net.ipv4.tcp_ecn=1;id
-n sysctl net.ipv4.tcp_ecn=$(id)
-n sysctl net.ipv4.tcp_ecn=1=2
-n sysctl kernel.hostname=x
-n sysctl -w kernel.core_pattern=|/tmp/x
-n sysctl -w kernel/core_pattern=x
-n sysctl -w vm.swappiness=1
-n sysctl -w net=1
-n sysctl -w net.ipv4=1
-n sysctl -w net.netfilter.nf_hooks_lwtunnel=1
-n sysctl -w net.nf_conntrack_max=1
-n sysctl -w net/../kernel/hostname=x
-n sysctl -w net.ipv4/../../kernel/hostname=x
-n sysctl -w net/ipv4/../../kernel/hostname=x
-n sysctl -w net...kernel.hostname=x
-n sysctl -w net.ipv4..tcp_ecn=1
-n sysctl -w net/ipv4//tcp_ecn=1
-n sysctl -w net.ipv4/tcp_ecn=1
-n sysctl -w net/ipv4.tcp_ecn=1
-n sysctl -w /net/ipv4/tcp_ecn=1
-n sysctl -w /proc/sys/net/ipv4/tcp_ecn=1
-n sysctl -w .net.ipv4.tcp_ecn=1
-n sysctl -w -net.ipv4.tcp_ecn=1
-n sysctl -w net.ipv4.*=1
-n sysctl -w net.ipv4.conf.?.rp_filter=1
-n sysctl -w net.ipv4.tcp_congestion_control=vegas
-n sysctl -w net/ipv4/tcp_congestion_control=vegas
-n ip
-n ip link
-n ip link set dev test
-n ip link set dev test mtu
-n ip link set dev test mtu 1279
-n ip link set dev test mtu 65536
-n ip link set dev test mtu 0x500
-n ip link set dev test mtu -1
-n ip link set dev test mtu 1400 up
-n ip link set dev test mtu 1400 netns 1
-n ip link set dev test netns 1
-n ip link set dev test name other
-n ip link set dev test down
-n ip link set dev management mtu 1400
-n ip link set dev lo mtu 1400
-n ip link set dev dev mtu 1400
-n ip link set mtu 1400 dev test
-n ip link delete dev test
-n ip -n other link set dev test mtu 1400
-n ip -b /tmp/file
-n ip netns exec other id
-n ip vrf exec other id
"""

WHOLE = {
    "no word": [],
    "an empty word": ["-n", ""],
    "a line end in a value": ["sysctl", "net.ipv4.tcp_ecn=1\n"],
    "a line end in a key": ["sysctl", "net.ipv4.tcp_ecn\n=1"],
    "a line end in a number": ["ip", "link", "set", "dev", "test", "mtu", "1400\n"],
    "a line end in an interface": ["ethtool", "-k", "test\n"],
    "an option with a value in one word": ["ethtool", "-K test gso off"],
    "digits of another script": [
        "ip",
        "link",
        "set",
        "dev",
        "test",
        "mtu",
        "\u0661\u0664\u0660\u0660",
    ],
    "a byte that is no text": ["ethtool", "-K", "test", "gso\udcff", "off"],
    "too many words": ["ethtool", "-K", "test", *["gso", "off"] * 40],
    "too long a word": ["sysctl", "net.ipv4.tcp_ecn=" + "1" * 400],
}


def test_the_sudo_rule_accepts_settings_of_the_own_host() -> None:
    for line in ALLOWED.splitlines():
        words = line.removeprefix("-n ").split()
        words[0] = words[0].rpartition("/")[2]
        assert accepted(line.split(), INTERFACES, ALGORITHMS) == tuple(words)


def test_the_sudo_rule_accepts_a_sysctl_value_of_several_numbers() -> None:
    line = ["-n", "sysctl", "-w", "net.ipv4.tcp_rmem=4096\t131072 6291456"]
    assert accepted(line, INTERFACES, ALGORITHMS) == tuple(line[1:])


def refusal_of(words: list[str]) -> str:
    """Why these words are refused."""
    try:
        accepted(words, INTERFACES, ALGORITHMS)
    except RefusalError as refusal:
        return str(refusal)
    pytest.fail(f"accepted: {words}")


def test_the_sudo_rule_refuses_other_commands_in_one_sentence() -> None:
    for line in REFUSED.splitlines():
        assert re.fullmatch(r"[ -~]{10,250}[^.]", refusal_of(line.split())), line


@pytest.mark.parametrize("line", WHOLE.values(), ids=WHOLE)
def test_the_sudo_rule_refuses_words_that_are_too_long_or_have_line_ends_or_odd_bytes(
    line: list[str],
) -> None:
    assert re.fullmatch(r"[ -~]{10,250}[^.]", refusal_of(line))


# A second statement of the rule, as one pattern of a whole line; a zero byte ends each word.
PAIR = r"(net[./](core|ipv4|ipv6|mptcp|unix)([./][A-Za-z0-9_-]+)+=[A-Za-z0-9 \t._,:+-]+\0)"
WHOLE_RULE = re.compile(
    r"(-n\0)?((/usr)?/s?bin/)?("
    r"ethtool\0-[KCGAL]\0(test|second)\0([a-z][a-z0-9_-]*\0(on|off|auto|[0-9]+)\0)+"
    r"|ethtool\0-[kcgaliST]\0(test|second)\0"
    rf"|sysctl\0(-w\0)?{PAIR}+"
    r"|ip\0link\0set\0(dev\0)?(test|second)\0mtu\0[0-9]{4,5}\0)"
)
FOUL = re.compile(r"\.\.|//|\n|=vegas|[;|&$`*?<>()]")
ALPHABET = """\
-n ethtool sysctl ip /usr/sbin/ethtool /opt/ip -K -k -C -p -w -f --load=/etc/x -b link set dev test
second management lo mtu 1400 1500 99999 gso rx on off auto 7 ; | & $(id) `id` > /etc/shadow * ? ..
net.ipv4.tcp_ecn=1 net/ipv4/tcp_ecn=0 net/../kernel/x=1 net.ipv4/../x=1 net.netfilter.x=1
kernel.hostname=x net.ipv4.tcp_congestion_control=vegas net.ipv4.tcp_congestion_control=reno
net.core.somaxconn=1;id net..x=1 /proc/sys/net/ipv4/x=1 netns exec sh -c id -- - = 0x10 -1
"""
STARTS: tuple[list[str], ...] = (
    [],
    ["-n"],
    ["ethtool", "-K", "test"],
    ["-n", "ethtool", "-k"],
    ["sysctl", "-w"],
    ["-n", "sysctl"],
    ["ip", "link", "set", "dev"],
    ["ip", "link", "set", "test", "mtu"],
)


def test_the_sudo_rule_accepts_random_command_lines_only_if_they_match_its_pattern() -> None:
    """Some lines begin as an allowed command does, so that enough of them are accepted."""
    draw = chance(20)
    words_to_draw = ALPHABET.split()
    count = 0
    cases = drawn(10_000, 100_000)
    for _ in range(cases):
        line = [*draw.choice(STARTS), *draw.choices(words_to_draw, k=draw.randint(0, 4))]
        try:
            words = accepted(line, INTERFACES, ALGORITHMS)
        except RefusalError:
            continue
        count += 1
        joined = "".join(word + "\0" for word in line)
        assert WHOLE_RULE.fullmatch(joined), line
        assert not FOUL.search(joined), line
        assert words[0] in ("ethtool", "sysctl", "ip")
    assert count > cases / 333
