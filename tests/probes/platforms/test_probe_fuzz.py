"""libFuzzer on what others can send the probe: request lines, and all that arrives on a data port;
and on the files of its undo log.

From the corpora in probes/fuzz/corpus, with the sanitizers of addresses and undefined behaviour;
a short run here, a long one by ``make -C probes libfuzzer LIBFUZZER_RUNS=10000000``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from folders import PROBES

TARGETS = ("request", "data_port", "settings", "undo_entry")
CORPUS = PROBES / "fuzz" / "corpus"
RUNS = 20_000


def libfuzzer(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    argv = ["make", "--no-print-directory", "-C", str(folder), "libfuzzer", *words]
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=600, check=False, env=environment
    )


@pytest.mark.needs("libfuzzer")
@pytest.mark.night
def test_libfuzzer_finds_no_fault_of_the_probe_in_a_short_run() -> None:
    process = libfuzzer(PROBES, f"LIBFUZZER_RUNS={RUNS}")
    assert process.returncode == 0, process.stderr
    input_counts = dict(
        re.findall(r"^(\w+): no fault in inputs: (\d+)$", process.stdout, re.MULTILINE)
    )
    assert set(input_counts) == set(TARGETS)
    assert all(int(count) >= RUNS for count in input_counts.values())


@pytest.mark.parametrize("target", TARGETS)
def test_the_fuzz_corpora_of_the_probe_have_each_kind_of_input(target: str) -> None:
    files = list((CORPUS / target).iterdir())
    texts = b"\n".join(path.read_bytes() for path in files)
    assert 10 <= len(files) <= 200
    assert len(texts) < 100_000
    words = {
        "request": (b"hello", b"lock", b"stop", b"facts", b"%"),
        "settings": (b"send", b"receive", b"ask", b"mirror", b"packet"),
        "data_port": (b"NLPH\1", b"NLPH\2", b"NLPH\3", b"NLPH\4", b"0123456789abcdef"),
        "undo_entry": (b"NLUNDO01", b"ethtool\0", b"\0" * 64),
    }
    assert all(word in texts for word in words[target])


@pytest.mark.needs("libfuzzer")
@pytest.mark.night
def test_libfuzzer_finds_a_planted_weak_check_of_lengths(tmp_path: Path) -> None:
    """A header that is read from fewer bytes than it has."""
    folder = tmp_path / "probes"
    shutil.copytree(PROBES, folder, ignore=shutil.ignore_patterns("build"))
    header = folder / "src/protocol/data_port.h"
    text = header.read_text(encoding="utf-8")
    assert text.count("length < 16 ||") == 1
    header.write_text(text.replace("length < 16 ||", "length < 8 ||"), encoding="utf-8")
    process = libfuzzer(folder, "FUZZED=data_port", f"LIBFUZZER_RUNS={RUNS}")
    assert process.returncode != 0
    assert "AddressSanitizer" in process.stderr
