"""Runs a fuzz target: with atheris (coverage guided), or by mutations of our own without it.

    python tests/fuzz/fuzzing.py NAME … --seconds 3600 --runs 1000000

A target is a file ``fuzz_NAME.py`` with one function, ``one_input(data)``, or ``import_TOOL`` for
each tool whose outputs are in tests/imports/samples. What it raises is a
finding, as is an input that takes more than a second of CPU time. Findings go to
``build/fuzz/NAME-…``; one line a target says how many inputs there were and the most memory taken.
Without a NAME every target runs, each in a process of its own.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
SAMPLES = HERE.parent / "imports" / "samples"
FOUND = HERE.parent.parent / "build" / "fuzz"
SLOW_S = 1.0
LENGTH_MOST = 1 << 16

OneInput = Callable[[bytes], None]


class TooSlow(Exception):
    """An input took more than a second of CPU time."""


def names() -> list[str]:
    """Every target."""
    files = {path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.py")}
    tools = {f"import_{folder.name}" for folder in SAMPLES.iterdir() if folder.is_dir()}
    return sorted(files | tools)


def target(name: str) -> OneInput:
    """The function of a target, which also notices what takes too long."""
    one_input: OneInput
    if (HERE / f"fuzz_{name}.py").exists():
        one_input = importlib.import_module(f"fuzz_{name}").one_input
    else:
        one_input = importlib.import_module("importing").tool_target(name.removeprefix("import_"))

    def timed(data: bytes) -> None:
        began_s = time.process_time()
        one_input(data)
        took_s = time.process_time() - began_s
        if took_s > SLOW_S:
            raise TooSlow(f"{took_s:.1f} s for {len(data)} bytes")

    return timed


def seeds(name: str) -> list[bytes]:
    """The inputs of a target to begin with, in the order of their files' names."""
    own, samples = CORPUS / name, SAMPLES / name.removeprefix("import_")
    files = sorted([*own.glob("*"), *samples.glob("*")])
    contents = [path.read_bytes() for path in files]
    unpacked = [
        gzip.decompress(data)
        for path, data in zip(files, contents, strict=True)
        if path.suffix == ".gz"
    ]
    return [data for data in (*contents, *unpacked) if len(data) < LENGTH_MOST]


TOKENS = (
    *(b"0", b"-1", b"1e308", b"1e999", b"NaN", b"Infinity", b"null", b"true", b'""', b"[]", b"{}"),
    *(b"18446744073709551616", b"9" * 400, b"\n", b"\r", b"\0", b",", b":", b'"', b"'", b"\\"),
    *(b"\\ud800", b"\x1b[2J", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc2\x9b", "é中🙂".encode()),
    *(b"[" * 200, b"{a: " * 50, b"&a ", b"*a", b"!!python/object ", b"<<: ", b"|", b"- ", b"  "),
)


def mutated(corpus: list[bytes], chance: random.Random) -> bytes:
    """One input made of another, or of two, by one to eight changes."""
    data = bytearray(chance.choice(corpus))
    for _ in range(chance.randint(1, 8)):
        at = chance.randint(0, len(data))
        end = min(len(data), at + chance.choice((1, 2, 8, 64)))
        kind = chance.randrange(6)
        if kind == 0:
            data[at:at] = chance.choice(TOKENS)
        elif kind == 1:
            data[at:end] = chance.choice(TOKENS)
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            data[at:at] = data[at:end] * chance.choice((1, 2, 50))
        elif kind == 4 and data:
            data[at % len(data)] ^= 1 << chance.randrange(8)
        else:
            donor = chance.choice(corpus)
            start = chance.randint(0, len(donor))
            data[at:end] = donor[start : start + chance.choice((4, 40, 400))]
    return bytes(data[:LENGTH_MOST])


def inputs(name: str, seed: int) -> Iterator[bytes]:
    """The corpus of a target, then what mutations make of it, without end."""
    corpus = seeds(name)
    yield from corpus
    chance = random.Random(seed)  # noqa: S311  (no secret: inputs that can be made again)
    while True:
        yield mutated(corpus, chance)


def run_by_mutation(name: str, *, seconds: float, runs: int, seed: int = 1) -> int:
    """Try inputs until time or number is over, and return how many; raises what a target raises.

    The corpus is tried whatever the time.
    """
    one_input = target(name)
    give_up = time.monotonic() + seconds
    least = len(seeds(name))
    for count, data in enumerate(inputs(name, seed)):
        if count >= runs or (count >= least and time.monotonic() > give_up):
            return count
        try:
            one_input(data)
        except BaseException:
            print(f"{name}: input {count} of seed {seed} is kept in {keep(name, data)}")
            raise
    raise AssertionError("inputs have no end")


def keep(name: str, data: bytes) -> Path:
    """Write a finding where it can be tried again."""
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"{name}-{hashlib.sha256(data).hexdigest()[:16]}"
    path.write_bytes(data)
    return path


def run_with_atheris(name: str, *, seconds: float, runs: int) -> None:
    """Guided by coverage; ends this process. New inputs are kept in build/fuzz/corpus."""
    import atheris

    with atheris.instrument_imports(include=["netlab"]):
        one_input = target(name)
    grown = FOUND / "corpus" / name
    grown.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds(name)):
        (grown / f"seed-{number}").write_bytes(data)
    words = [
        *(name, str(grown), f"-max_total_time={seconds:.0f}", f"-runs={runs}"),
        *(f"-max_len={LENGTH_MOST}", "-timeout=60", "-rss_limit_mb=1000", "-print_final_stats=1"),
        *(f"-artifact_prefix={FOUND}/{name}-", "-verbosity=0"),
    ]
    atheris.Setup(words, one_input)
    atheris.Fuzz()


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names()))
    words.add_argument("--seconds", type=float, default=3600.0)
    words.add_argument("--runs", type=int, default=1_000_000)
    words.add_argument("--seed", type=int, default=1)
    arguments = words.parse_args()
    sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parent / "injection")]
    if len(arguments.names) != 1:
        options = [*("--seconds", str(arguments.seconds), "--runs", str(arguments.runs))]
        exit_codes = [
            subprocess.run([sys.executable, __file__, name, *options], check=False).returncode
            for name in arguments.names or names()
        ]
        return max(exit_codes)
    (name,) = arguments.names
    try:
        import atheris  # noqa: F401  (whether it is there)
    except ModuleNotFoundError:
        print(f"{name}: by mutation; no atheris here (pip install 'netlab-matrix[fuzz]')")
        count = run_by_mutation(
            name, seconds=arguments.seconds, runs=arguments.runs, seed=arguments.seed
        )
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
        print(f"{name}: {count} inputs, no finding, {most} MB at most")
        return 0
    run_with_atheris(name, seconds=arguments.seconds, runs=arguments.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
