"""The probe's rooms that need no system, its build, and where C and the texts must agree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import PROBES, ROOT
from netprobe_agents import asked

PROTOCOL = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
SOURCE = PROBES / "src"
COMPILERS = [
    pytest.param("gcc", marks=pytest.mark.night),  # as `make probe` has built it with -Werror
    pytest.param("clang", marks=pytest.mark.needs("clang")),
]

pytestmark = pytest.mark.needs("cc")


def make(*words: str, folder: Path = PROBES) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", "-C", str(folder), *words]
    # Not a part of the make that runs the tests.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def sources(pattern: str = "src/**/*.[ch]") -> Iterator[Path]:
    return iter(sorted(PROBES.glob(pattern)))


def is_of_platform(path: Path) -> bool:
    return SOURCE / "platform" in path.parents


def code(path: Path) -> str:
    """A C file without its comments."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def copy_of_probes(into: Path) -> Path:
    shutil.copytree(PROBES, into / "probes", ignore=shutil.ignore_patterns("build"))
    return into / "probes"


# ---- what runs in C ----


def test_all_c_unit_tests_pass_under_the_sanitizers() -> None:
    process = make("unit")
    assert process.returncode == 0, process.stdout + process.stderr
    passed_names = re.findall(r"^ok (\w+)$", process.stdout, flags=re.MULTILINE)
    test_names = [
        name
        for folder in (("unit", "played") if sys.platform == "linux" else ("unit",))
        for path in sources(f"tests/{folder}/*.c")
        for name in re.findall(r"^TEST\((\w+)\)", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert sorted(passed_names) == sorted(test_names)
    assert len(test_names) > 70


@pytest.mark.lab
def test_the_fuzz_targets_of_the_probe_find_no_fault_in_made_up_inputs() -> None:
    process = make("fuzz", "FUZZ_RUNS=20000")
    assert process.returncode == 0, process.stdout + process.stderr
    assert len(re.findall(r"^build/fuzz-\w+: 20000 inputs .* no fault$", process.stdout, re.M)) == 4


@pytest.mark.night
@pytest.mark.parametrize(
    ("target", "room", "right", "wrong"),
    [
        ("data_port", "src/protocol/data_port.c", "length != DATAPORT_CONTROL", "length < 40"),
        ("data_port", "src/protocol/data_port.h", "length < 16 ||", "length < 8 ||"),
        (
            "request",
            "src/protocol/request.c",
            "value_length >= capacity",
            "value_length > capacity",
        ),
    ],
)
def test_a_fuzz_target_finds_a_planted_weak_check_of_lengths(
    tmp_path: Path, target: str, room: str, right: str, wrong: str
) -> None:
    folder = copy_of_probes(tmp_path)
    text = (folder / room).read_text(encoding="utf-8")
    assert right in text
    (folder / room).write_text(text.replace(right, wrong), encoding="utf-8")
    process = make("fuzz", f"FUZZED={target}", "FUZZ_RUNS=50000", folder=folder)
    assert process.returncode != 0
    assert "Sanitizer" in process.stderr or "Abort" in process.stdout + process.stderr


@pytest.mark.night
def test_the_c_unit_tests_find_a_planted_wrong_window(tmp_path: Path) -> None:
    folder = copy_of_probes(tmp_path)
    text = (folder / "src/pure/window.c").read_text(encoding="utf-8")
    line = "open_at(window, t_ns, sum);"
    assert line in text
    (folder / "src/pure/window.c").write_text(
        text.replace(line, "open_at(window, t_ns, before);"), encoding="utf-8"
    )
    process = make("run-unit", "CFLAGS=-O0", folder=folder)
    assert process.returncode != 0
    assert "FAILED mark_a_starts_the_clock_and_its_own_bytes_are_not_counted" in process.stdout


# ---- the build ----


@pytest.mark.lab
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_probe_compiles_without_a_warning(compiler: str, tmp_path: Path) -> None:
    process = make(f"CC={compiler}", f"BUILD={tmp_path}", "all")
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    flags = (PROBES / "Makefile").read_text(encoding="utf-8")
    assert "-Wall -Wextra -Wshadow -Werror" in flags
    assert (tmp_path / "netprobe").is_file()


@pytest.mark.lab
def test_the_probe_reports_its_build_id_and_is_rebuilt_only_if_its_source_changes(
    tmp_path: Path,
) -> None:
    folder = copy_of_probes(tmp_path)

    def built() -> str:
        line = make("CFLAGS=-O0", folder=folder).stdout.strip()
        return line.rpartition(" ")[2] if ", build " in line else ""

    def says() -> object:
        return asked(folder / "build" / "netprobe", "hello")["build"]

    first = built()
    assert re.fullmatch(r"[0-9a-f]{16}", first)
    assert says() == first
    binary = folder / "build" / "netprobe"
    first_mtime_ns = binary.stat().st_mtime_ns
    assert built() == ""
    assert binary.stat().st_mtime_ns == first_mtime_ns
    header = folder / "src/protocol/error.h"
    header.write_text(header.read_text(encoding="utf-8") + "\n/* more */\n", encoding="utf-8")
    second = built()
    assert second != first
    assert says() == second


def test_make_without_a_compiler_prints_one_sentence_with_what_to_install() -> None:
    process = make("CC=no-such-compiler")
    assert process.returncode != 0
    sentences = [line for line in process.stderr.splitlines() if "compiler" in line]
    assert len(sentences) == 1
    assert "no-such-compiler" in sentences[0]
    assert "apt-get install gcc" in sentences[0]


# ---- the platform seam ----

SYSTEM_MACROS = re.compile(
    r"^\s*#\s*(?:el)?if(?:n?def)?\b.*\b(__linux__|linux|_WIN32|_WIN64|WIN32|__APPLE__|__FreeBSD__|__NetBSD__"
    r"|__OpenBSD__|__unix__|__CYGWIN__|__MINGW\w+|_MSC_VER|BSD)\b",
    re.MULTILINE,
)


def test_only_platform_files_of_the_probe_test_for_an_operating_system() -> None:
    looked_at = 0
    for path in [*sources(), *sources("tests/**/*.[ch]"), *sources("fuzz/*.[ch]")]:
        if is_of_platform(path):
            continue
        looked_at += 1
        assert not SYSTEM_MACROS.search(code(path)), path
    assert looked_at > 20
    assert SYSTEM_MACROS.search((SOURCE / "platform/plat.h").read_text(encoding="utf-8"))


def test_files_outside_the_platform_include_only_standard_and_own_headers() -> None:
    standard = set(
        re.findall(
            r"\w+",
            "assert ctype errno float inttypes limits math stdalign stdarg stdatomic stdbool stddef"
            " stdint stdio stdlib string",
        )
    )
    for path in sources():
        if is_of_platform(path):
            continue
        included = set(re.findall(r"#include <([\w/]+)\.h>", code(path)))
        assert included <= standard, path


# ---- words and keys, in C and in docs/protocol.md ----


def section(title: str) -> str:
    """The protocol's text from a heading to the next one of the same depth or less."""
    heading = re.search(rf"^(#+) {re.escape(title)}$", PROTOCOL, re.MULTILINE)
    assert heading, title
    remainder = PROTOCOL[heading.end() :]
    end = re.search(rf"^#{{1,{len(heading[1])}}} ", remainder, re.MULTILINE)
    return remainder[: end.start()] if end else remainder


def first_column(table: str) -> set[str]:
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row)}


def c_error_words() -> set[str]:
    macro = re.search(r"#define ERROR_WORDS\(X\)((?:.*\\\n)*.*)", code(SOURCE / "protocol/error.h"))
    assert macro
    words = re.findall(r'X\("([a-z-]+)"\)', macro[1])
    assert len(words) == len(set(words))
    return set(words)


def test_the_error_words_in_c_equal_the_list_in_the_protocol() -> None:
    assert c_error_words() == first_column(section("Error words"))


def test_the_probe_uses_each_listed_error_word_and_no_other() -> None:
    text = "\n".join(code(path) for path in sources() if path.name != "error.h")
    call = r"(?:test_fail\w*|error_about|refuse|too_late|note|fail)\(\s*[&\w]+,"
    words = set(re.findall(call + r"\s*\"([a-z-]+)\"", text))
    words |= set(re.findall(r"error_about\(\s*\"([a-z-]+)\"", text))
    words |= set(re.findall(r"return \"([a-z]+(?:-[a-z]+)+)\"", text))
    assert len(words) > 10
    assert words - {"too-few-messages"} <= c_error_words()
    for word in c_error_words():
        assert f'"{word}"' in text, f"{word} is documented, and nothing ever says it"


def table_keys(title: str) -> set[str]:
    """Keys of a section's tables: `nodelay=1`, `dscp=0…63` stand for their key."""
    words: set[str] = set()
    for row in section(title).splitlines():
        if row.startswith("| `"):
            words |= set(re.findall(r"`([a-z_]+)(?:=[^`]*)?`", row.split("|")[1]))
    return words


def keys_taken(table: str) -> set[str]:
    """The keys of one table of settings.c, with those that all of them have in common."""
    text = code(SOURCE / "protocol/settings.c")
    common = re.search(r"#define COMMON_KEYS(.*?)\n\n", text, re.DOTALL)
    own = re.search(rf" {table}\[\] = \{{(.*?)\}}", text, re.DOTALL)
    assert common
    assert own
    assert "COMMON_KEYS" in own[1]
    return set(re.findall(r'"([a-z_]+)"', common[1] + own[1]))


def test_the_keys_of_streams_in_c_equal_those_in_the_protocol() -> None:
    assert keys_taken("settings_keys") == table_keys("`send` and `receive`")
    assert "window_close_ns" in keys_taken("settings_keys")


def test_the_keys_of_round_trips_in_c_equal_those_in_the_protocol() -> None:
    text = section("`ask` and `mirror`")
    sentence = re.search(r"^The keys (.*) mean what they mean for streams", text, re.MULTILINE)
    assert sentence
    stream_keys = set(re.findall(r"`([a-z_]+)`", sentence[1])) | {"kind", "message"}
    request_keys = {
        "ask": keys_taken("settings_ask_keys"),
        "mirror": keys_taken("settings_mirror_keys"),
    }
    for row in text.splitlines():
        if not row.startswith("| `"):
            continue
        _, keys, of, *_ = row.split("|")
        roles = ["ask", "mirror"] if "both" in of else [of.split(",")[0].strip()]
        for key in re.findall(r"`([a-z_]+)(?:=[^`]*)?`", keys):
            for role in roles:
                assert key in request_keys[role], (role, key)
    ask_keys, mirror_keys = request_keys["ask"], request_keys["mirror"]
    assert ask_keys | mirror_keys == table_keys("`ask` and `mirror`") | stream_keys
    assert stream_keys <= ask_keys & mirror_keys


WRITER = (
    r"(?:json_(?:text|text_of|u64|i64|double|flag|u64s)"
    r"|(?:facts_)?(?:text|number|list)(?:_of)?|say|add_option|route_address|address_text"
    r"|registry_number)"
)


def test_the_facts_in_c_equal_those_in_the_protocol() -> None:
    documented = set(re.findall(r"`([a-z][a-z0-9_]+)`", section("`facts`"))) - {"none"}
    fact_names: set[str] = set()
    linux: set[str] = set()
    for path in sources("src/platform/**/*.c"):
        names = set(re.findall(WRITER + r"\(\s*out, \"([a-z0-9_]+)\"", code(path)))
        fact_names |= names
        if path.parent.name == "linux":
            linux |= names
    # What every system tells alike is added where the request is answered.
    answer = code(SOURCE / "agent/agent.c")
    fact_names |= set(re.findall(r"json_u64s\(record, \"([a-z0-9_]+)\"", answer))
    assert fact_names == documented
    assert len(linux) > 40


def test_the_protocol_documents_each_key_of_a_record() -> None:
    documented = set(re.findall(r"`([a-z][a-z0-9_]+)`", PROTOCOL))
    record_keys: set[str] = set()
    for path in sources("src/**/*.c"):
        if not is_of_platform(path):
            record_keys |= set(re.findall(WRITER + r"\(\s*&?record, \"([a-z0-9_]+)\"", code(path)))
    assert record_keys - documented == set()
    assert len(record_keys) > 50


def test_a_record_of_round_trips_has_room_for_the_longest_times() -> None:
    """Of a window of a year, the longest there is, and round trips that take all of it."""
    year_s, most = 31_536_000, 1900
    source = (SOURCE / "agent/result.c").read_text("utf-8")
    assert f"#define TRIPS_OF_A_RECORD {most}\n" in source
    assert f"{most} requests each at most" in PROTOCOL
    record = {
        "type": "trips",
        "id": 64 * "x",
        "window_open_ns": 2**64 - 1,
        "trip_at_us": [10**6 * year_s] * most,
        "trip_ns": [10**9 * year_s] * most,
        "lost_trip_at_us": [],
    }
    assert len(json.dumps(record, separators=(",", ":"))) < 65536
