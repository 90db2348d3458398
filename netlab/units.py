"""Parses and formats quantities with units: bytes, seconds, bit/s and shares.

IEC prefixes are powers of 1024 (``64KiB``), SI prefixes powers of 1000 (``64kB``, ``100Mbit``).
Ambiguous units (``64K``, ``64KB``, ``2m``, ``100MBps``) are refused: the error says what to write
instead. Numbers are parsed as decimals, so that ``300ms`` and ``0.3s`` give the same number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, localcontext

_NUMBER = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,2}))?"
_QUANTITY = re.compile(rf"{_NUMBER}\s*([A-Za-zµμ%/]*)", re.ASCII)
_LONGEST = 40  # maximum number of characters; nobody writes a longer quantity

_BYTES = dict.fromkeys(("", "B", "byte", "bytes"), 1) | {
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMG", 1)},
    **{f"{letter}B": 1000**power for power, letter in enumerate("kMG", 1)},
}
_SECONDS = {"": Decimal(1), "s": Decimal(1), "min": Decimal(60), "h": Decimal(3600)} | {
    unit: Decimal(10) ** -power
    for unit, power in (("ms", 3), ("us", 6), ("µs", 6), ("μs", 6), ("ns", 9))
}
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_RATES = {
    prefix + unit: factor for prefix, factor in _PREFIXES.items() for unit in ("bit", "bit/s")
} | {"": 1}
_PER_SECOND = {prefix + unit: factor for prefix, factor in _PREFIXES.items() for unit in ("", "/s")}

_A_SIZE = "a size in bytes, such as 1500, 64KiB or 64kB"
_A_TIME = "a time, such as 10s, 500ms or 2min"
_A_RATE = "a rate in bit/s, such as 100Mbit, 1Gbit/s or 64kbit"
_A_SHARE = "a percentage, such as 2.5 % or 95 %"
_A_NUMBER_PER_SECOND = "a number per second, such as 5000, 5000/s or 5k/s"


def parse_bytes(value: str | int) -> int:
    """``64KiB``, ``64kB``, ``1500`` or ``1500 B`` in bytes. Raises ValueError with a message for
    the user; ``64K``, ``64k`` and ``64KB`` are refused, because they are ambiguous. The caller
    checks zero and the range.
    """
    number, unit = _split(value, _A_SIZE)
    if unit.lower() in ("k", "kb", "m", "g") and unit not in _BYTES:
        letter = unit[0].upper()
        decimal = "k" if letter == "K" else letter
        raise ValueError(
            f"{_shown(value)} could mean two things: write {number}{letter}iB (powers of 1024) "
            f"or {number}{decimal}B (powers of 1000)"
        )
    if unit in ("mb", "gb", "tb"):
        letter = unit[0].upper()
        raise ValueError(
            f"{_shown(value)} is not a size: write {number}{letter}B (bytes) or {number}{letter}bit"
        )
    size = _scaled(value, number, _BYTES, unit, _A_SIZE)
    if size != size.to_integral_value():
        raise ValueError(f"{_shown(value)} is not a whole number of bytes")
    return int(size)


def parse_seconds(value: str | float) -> float:
    """``10s``, ``500ms``, ``2min``, ``1 h 9 min`` or ``1.5`` (seconds) in seconds. Raises
    ValueError with a message for the user; a bare ``m`` is refused, because it is ambiguous.
    """
    total = Decimal(0)
    for part in _parts(value):
        number, unit = _split(part, _A_TIME)
        if unit in ("m", "M"):
            raise ValueError(f"{_shown(value)}: m is not a unit of time: write min or ms")
        total += _scaled(value, number, _SECONDS, unit, _A_TIME)
    return float(total)


def parse_rate(value: str | float) -> float:
    """``100Mbit``, ``1 Gbit/s``, ``100Mbps`` or ``64000`` (bit/s) in bit/s; the case of the prefix
    does not matter. Raises ValueError with a message for the user; ``MBps`` and ``MB/s`` are
    refused, because they are used for bytes and for bits.
    """
    number, unit = _split(value, _A_RATE)
    if unit.endswith(("Bps", "B/s", "B")):
        prefix = unit.partition("B")[0]
        raise ValueError(f"{_shown(value)} reads as bytes per second: write {number}{prefix}bit/s")
    plain = unit.removesuffix("ps") + "it" if unit.endswith("bps") else unit
    return float(_scaled(value, number, _RATES, plain, _A_RATE))


def parse_per_second(value: str | float) -> float:
    """``5000``, ``5000/s`` or ``5k/s`` in 1/s. Raises ValueError with a message for the user."""
    number, unit = _split(value, _A_NUMBER_PER_SECOND)
    return float(_scaled(value, number, _PER_SECOND, unit, _A_NUMBER_PER_SECOND))


def parse_share(value: str | float) -> float:
    """``2.5 %`` as 0.025. The sign is required: 1 could mean the whole or a hundredth. Raises
    ValueError with a message for the user.
    """
    number, unit = _split(value, _A_SHARE)
    if unit != "%":
        raise ValueError(f"{_shown(value)} is not {_A_SHARE}")
    return float(Decimal(number) / 100)


def many(number: int, word: str) -> str:
    """A number with its noun, such as ``1 trial`` or ``2 trials``, if the plural is regular."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def plain_figures(number: float, figures: int = 3) -> str:
    """A number with ``figures`` significant digits and no exponent: ``2.5``, ``1250``,
    ``0.000012``.
    """
    text = f"{Decimal(f'{number:.{figures}g}'):f}"
    bare = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if bare == "-0" else bare


def format_share(share: float, figures: int = 3) -> str:
    """A percentage with ``figures`` significant digits: ``2.5 %``, ``99.9 %``, ``1250 %``."""
    return f"{plain_figures(100 * share, figures)} %"


def format_bytes(size_bytes: int) -> str:
    """The shortest exact form: ``64 KiB``, ``1500 B``; ``parse_bytes`` reads it back."""
    for factor, unit in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor} {unit}"
    return f"{size_bytes} B"


def format_rate(rate_bit_per_s: float) -> str:
    """A rate such as ``94.15 Mbit/s`` or ``100 Mbit/s``. The unit is chosen after rounding, so the
    result is never ``1000.00 Mbit/s``.
    """
    scaled, unit = rate_bit_per_s, "bit/s"
    for larger in ("kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"):
        if abs(round(scaled, 2)) < 1000:
            break
        scaled, unit = scaled / 1000, larger
    return f"{scaled:.0f} {unit}" if scaled == round(scaled) else f"{scaled:.2f} {unit}"


def format_seconds(time_s: float) -> str:
    """A duration: ``500 ms``, ``1.5 s``, ``3 min 20 s``, ``1 h 12 min``; it has three digits below
    a minute, whole seconds below an hour, and whole minutes above. ``parse_seconds`` reads it back
    if it is positive, except for the rounding.
    """
    if time_s < 0:
        return "-" + format_seconds(-time_s)
    time_s = round(time_s, 12)
    for factor, unit in ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s")):
        figures = plain_figures(time_s / factor)
        if time_s and float(figures) < (60 if unit == "s" else 1000):
            return f"{figures} {unit}"
    minutes, seconds = divmod(round(time_s), 60)
    if not minutes:
        return f"{seconds} s"
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(round(time_s / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def _parts(value: str | float) -> list[str | float]:
    """The parts of ``1 h 9 min``; any other value as the only part."""
    if isinstance(value, str) and len(value) <= _LONGEST:
        parts = re.findall(r"[0-9.]+\s*[A-Za-zµμ]+", value)
        if len(parts) > 1 and re.sub(r"\s", "", value) == re.sub(r"\s", "", "".join(parts)):
            return list(parts)
    return [value]


def _split(value: str | float, quantity: str) -> tuple[str, str]:
    text = str(value).strip()
    too_odd = isinstance(value, bool) or len(text) > _LONGEST
    match = None if too_odd else _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{_shown(value)} is not {quantity}")
    return match[1] + (f"e{match[2]}" if match[2] else ""), match[3]


def _scaled(
    value: str | float,
    number: str,
    factors: Mapping[str, int] | Mapping[str, Decimal],
    unit: str,
    quantity: str,
) -> Decimal:
    """A number times the factor of its unit, or of the one unit that differs only in case."""
    alike = [factor for name, factor in factors.items() if name.lower() == unit.lower()]
    alike = [factors[unit]] if unit in factors else alike
    if len(alike) != 1:
        raise ValueError(f"{_shown(value)} is not {quantity}")
    with localcontext() as context:
        context.prec = 60
        return Decimal(number) * alike[0]


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
