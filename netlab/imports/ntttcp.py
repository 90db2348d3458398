"""Import: a run folder out of the XML of ntttcp (``-xml``) and of ntttcp-for-linux (``-x``).

The format was read from the source code, not from recorded outputs: from ntttcp 5.40 for Windows
(https://github.com/microsoft/ntttcp, ``PrintOutput``) and ntttcp-for-linux 1.4.3
(https://github.com/microsoft/ntttcp-for-linux, ``write_result_into_xml_file``), which always prints
the version 5.33-linux. Nothing shows which two outputs are of one test, so they are two results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.parsers import expat

from netlab.errors import MatrixError
from netlab.imports.common import tool_results
from netlab.imports.common.csv_table import NOT_RECORDED, fault_at
from netlab.imports.common.tool_results import ToolResult
from netlab.trial.record import Value

_ROOT = "<netlab>"
"""Start tag of an element that is put around the whole text: if ntttcp appended to a file, the file
has several root elements, but expat accepts only one."""

_DECLARATION = re.compile(r"\s*<\?xml [^<>]{0,200}\?>")
_KNOWN = re.compile(r"5\.[0-9]{1,2}|5\.33-linux")
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,9})?")
_MAX_DEPTH = 16
_MAX_TEXT = 4096
_OUTPUTS = ("ntttcpr", "ntttcps")
"""Elements: what the receiver counted, and what the sender handed over to its system."""


class _NtttcpOutput:
    """One output. The keys of ``texts`` are paths such as ``parameters/udp``, and ``throughput
    METRIC``.
    """

    def __init__(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.is_receiver = tag == "ntttcpr"
        self.computer = attributes.get("computername", "")[:200]
        self.version = attributes.get("version", "")[:40]
        self.is_linux = self.version.endswith("-linux")
        self.texts: dict[str, str] = {}
        self.threads = 0
        self.unread: list[str] = []

    def number(self, path: str) -> float | None:
        """A number from 0; ``None`` if absent, negative, or any other text (noted)."""
        text = self.texts.get(path, "").strip()
        if not text or text.startswith("-"):
            return None  # -1 means that nothing was requested
        number = tool_results.bounded(float(text)) if _NUMBER.fullmatch(text) else None
        if number is None:
            self.unread.append(f"`{path}` is left out: {text[:40]!r} is no number in range")
        return number

    def truth(self, path: str) -> bool | None:
        """A truth value; ``None`` if it is absent."""
        return {"true": True, "false": False}.get(self.texts.get(path, "").strip().lower())


class _Reader:
    """Reads XML and keeps the texts of each output. Refuses entities and document types."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._outputs: list[_NtttcpOutput] = []
        self._path: list[str] = []
        self._key = ""
        self._parts: list[str] = []
        self._size = 0
        # A declaration is only allowed at the beginning of the text: blanks stand for it.
        match = _DECLARATION.match(text)
        blank = re.sub(r"[^\n]", " ", match[0]) if match else ""
        self._text = f"{_ROOT}{blank}{text[len(blank) :]}</netlab>"
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        self._parser = parser

    def outputs(self) -> list[_NtttcpOutput]:
        """The outputs in the order of the file. Raises MatrixError with the place of a fault."""
        try:
            self._parser.Parse(self._text, True)
        except expat.ExpatError as error:
            sentence = f"not XML of ntttcp: {expat.ErrorString(error.code)}"
            raise self._fault(sentence) from None
        except UnicodeEncodeError:
            sentence = "not XML: a text contains half a surrogate pair"
            raise fault_at(self._file, 1, 1, sentence) from None
        return self._outputs

    def _fault(self, sentence: str) -> MatrixError:
        """A fault at the place that is read. The column does not count the added ``_ROOT``."""
        line, offset = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber
        column = offset + 1 - (len(_ROOT) if line == 1 else 0)
        return fault_at(self._file, line, max(1, column), sentence)

    def _refuse(self, *_: object) -> None:
        raise self._fault("there is a document type or an entity here; ntttcp writes neither")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._path.append(tag)
        if len(self._path) > _MAX_DEPTH:
            raise self._fault("nested too deeply")
        if tag in _OUTPUTS:
            if any(outer in _OUTPUTS for outer in self._path[:-1]):
                raise self._fault(f"an element {tag} is inside of another output")
            self._outputs.append(_NtttcpOutput(tag, attributes))
        elif len(self._path) == 2 and tag != "samples":
            raise self._fault(
                f"not an output of ntttcp -xml: {tag[:40]!r} is neither ntttcps nor ntttcpr"
            )
        self._parts, self._size = [], 0
        inner = self._inner()
        metric = attributes.get("metric", "")
        self._key = f"{inner} {metric}" if inner == "throughput" else inner

    def _inner(self) -> str:
        """The path below the element of an output; empty outside of such an element."""
        depth = next((n for n, tag in enumerate(self._path) if tag in _OUTPUTS), len(self._path))
        return "/".join(self._path[depth + 1 :])

    def _data(self, text: str) -> None:
        self._size += len(text)
        if self._key and self._size <= _MAX_TEXT:
            self._parts.append(text)

    def _end(self, tag: str) -> None:
        inner = self._inner()
        if self._outputs and inner == "thread":
            self._outputs[-1].threads += 1
        elif self._outputs and self._key and not inner.startswith("thread/"):
            self._outputs[-1].texts.setdefault(self._key, "".join(self._parts))
        self._path.pop()
        self._key, self._parts, self._size = "", [], 0


def parse_ntttcp(text: str, file: str) -> tuple[ToolResult, ...]:
    """The outputs in a text. Raises MatrixError where it is not XML of ntttcp."""
    if not (outputs := _Reader(text, file).outputs()):
        raise fault_at(file, 1, 1, "the file contains no output of ntttcp -xml")
    return tuple(_result(output, file) for output in outputs)


def _result(output: _NtttcpOutput, file: str) -> ToolResult:
    if not _KNOWN.fullmatch(output.version):
        output.unread.append(
            f"version {output.version!r} is not known: read as far as it is understood"
        )
    settings = _settings(output)
    # An MB is 2^20 bytes on Windows and 10^6 on Linux, so the rate in MB/s is not read.
    rate = output.number("throughput Bps")
    if rate is not None:
        rate *= 8
    elif (megabits := output.number("throughput mbps")) is not None:
        rate = tool_results.bounded(1e6 * megabits)
    values: dict[str, Value] = {}
    reason: str | None = None
    detail: str | None = None
    if not rate:
        words = ("no-traffic", "ntttcp counted no byte")
        reason, detail = (NOT_RECORDED, "the output has no throughput") if rate is None else words
    elif output.is_receiver:
        elapsed_s = output.number("realtime") or 0
        elapsed_ns = tool_results.in_ns(elapsed_s if elapsed_s < 1e7 else None)
        values = tool_results.measured(throughput_bit_per_s=rate, elapsed_ns=elapsed_ns)
    else:
        values["sent_bit_per_s"] = rate
    if output.truth("parameters/latency_measurement"):
        output.unread.append("the times of single calls (-lm) are left out")
    if output.number("parameters/throughput_Bpms"):
        output.unread.append("the limit of the rate (-thr) is left out: it is that of a thread")
    other = output.texts.get("parameters/sender_name", "").strip()[:200]
    sender = "" if other in ("NA", "(null)") else other
    return ToolResult(
        file=file,
        server=output.computer if output.is_receiver else "",
        client=sender if output.is_receiver else output.computer,
        settings=settings,
        values=values,
        reason=reason,
        detail=detail,
        unread=tuple(output.unread),
    )


def _settings(output: _NtttcpOutput) -> dict[str, Value]:
    udp = output.truth("parameters/udp")
    if udp is None:
        output.unread.append("the output does not state whether it is of TCP or UDP")
        return {}

    def number(path: str, most: float) -> float | None:
        stated = output.number(path)
        return None if stated is None or stated > most else stated

    ipv6 = output.truth("parameters/use_ipv6")
    run, warm_up = (number(f"parameters/{name}", 1e10) for name in ("run_time", "warmup_time"))
    per_second = 1 if output.is_linux else 1000  # seconds on Linux, milliseconds on Windows
    # On Linux, this parameter of a sender is the length of its send calls.
    size = number("parameters/send_socket_buff" if output.is_linux else "bufferLen", 2**40)
    side = "recv" if output.is_receiver else "send"
    buffer_bytes = None if output.is_linux else number(f"parameters/{side}_socket_buff", 2**40)
    connections = output.number("conns_tested") if output.is_linux else output.threads
    return tool_results.requested(
        protocol="UDP" if udp else "TCP",
        direction="client-sends",
        ip_version=None if ipv6 is None else 6 if ipv6 else 4,
        duration_s=run and run / per_second,
        warm_up_s=warm_up and warm_up / per_second,
        message_bytes=int(size) if size and not output.is_receiver else None,
        socket_buffer_bytes=buffer_bytes and int(buffer_bytes),
        streams=int(connections) if connections and connections <= 10**6 else None,
    )


IMPORTER = tool_results.tool_importer(
    parse_ntttcp,
    """Make a run folder out of the XML of ntttcp or ntttcp-for-linux, and its report.

    FILES are outputs of receivers or senders, or folders of them. Only a receiver's output has a
    throughput. Tests with the same settings between the same hosts are trials of one cell.
    """,
)
