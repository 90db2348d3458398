"""Import: a run folder out of the XML of ntttcp (``-xml``) and of ntttcp-for-linux (``-x``).

The format was read from the source code, not from recorded outputs: from ntttcp 5.40 for Windows
(https://github.com/microsoft/ntttcp, ``PrintOutput``) and ntttcp-for-linux 1.4.3
(https://github.com/microsoft/ntttcp-for-linux, ``write_result_into_xml_file``), which always prints
the version 5.33-linux. Nothing shows which two outputs are of one test, so they are two results.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from netlab.errors import MatrixError
from netlab.imports.common import tool_results
from netlab.imports.common.csv_table import NOT_RECORDED, fault_at
from netlab.imports.common.tool_results import Failure, Output, ToolResult
from netlab.trial.record import Value

_ROOT = "<netlab>"
"""Start tag of an element that is put around the whole text: if ntttcp appended to a file, the file
has several root elements, but expat accepts only one."""

_DECLARATION = re.compile(r"\s*<\?xml [^<>]{0,200}\?>")
_KNOWN = re.compile(r"5\.[0-9]{1,2}|5\.33-linux")
_MAX_DEPTH = 16
_OUTPUTS = ("ntttcpr", "ntttcps")
"""Elements: what the receiver counted, and what the sender handed over to its system."""


class _NtttcpOutput(Output):
    """One output. The names of its fields are paths such as ``parameters/udp``, and ``throughput
    METRIC``.
    """

    fault = "is no number in range"

    def __init__(self, element: Element, file: str) -> None:
        super().__init__(file)
        self._element = element
        self.is_receiver = element.tag == "ntttcpr"
        self.computer = element.get("computername", "")[:200]
        self.version = element.get("version", "")[:40]
        self.is_linux = self.version.endswith("-linux")
        self.threads = len(element.findall("thread"))

    def text(self, name: str) -> str | None:
        """The text at a path; ``None`` if it is absent, or negative: nothing was requested."""
        path, _, metric = name.partition(" ")
        text = self._element.findtext(path + f"[@metric='{metric}']" * bool(metric), "").strip()
        return None if not text or text.startswith("-") else text

    def truth(self, path: str) -> bool | None:
        """A truth value; ``None`` if it is absent."""
        return {"true": True, "false": False}.get((self.text(path) or "").lower())


def _elements(text: str, file: str) -> list[Element]:
    """The elements of the outputs, in the order of the file. Refuses entities and document types.
    Raises MatrixError with the place of a fault.
    """
    path: list[str] = []
    tree = TreeBuilder()
    parser = expat.ParserCreate()

    def fault(sentence: str) -> MatrixError:
        line = parser.CurrentLineNumber
        column = parser.CurrentColumnNumber + 1 - (len(_ROOT) if line == 1 else 0)
        return fault_at(file, line, max(1, column), sentence)

    def refuse(*_: object) -> None:
        raise fault("there is a document type or an entity here; ntttcp writes neither")

    def start(tag: str, attributes: dict[str, str]) -> None:
        path.append(tag)
        if len(path) > _MAX_DEPTH:
            raise fault("nested too deeply")
        if tag in _OUTPUTS and any(outer in _OUTPUTS for outer in path[:-1]):
            raise fault(f"an element {tag} is inside of another output")
        if len(path) == 2 and tag not in (*_OUTPUTS, "samples"):
            sentence = f"{tag[:40]!r} is neither ntttcps nor ntttcpr"
            raise fault(f"not an output of ntttcp -xml: {sentence}")
        tree.start(tag, attributes)

    def end(tag: str) -> None:
        path.pop()
        tree.end(tag)

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = tree.data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    # A declaration is only allowed at the beginning of the text: blanks stand for it.
    match = _DECLARATION.match(text)
    blank = re.sub(r"[^\n]", " ", match[0]) if match else ""
    try:
        parser.Parse(f"{_ROOT}{blank}{text[len(blank) :]}</netlab>", True)
    except expat.ExpatError as error:
        raise fault(f"not XML of ntttcp: {expat.ErrorString(error.code)}") from None
    except UnicodeEncodeError:
        raise fault_at(file, 1, 1, "not XML: a text contains half a surrogate pair") from None
    return [element for element in tree.close().iter() if element.tag in _OUTPUTS]


def parse_ntttcp(text: str, file: str) -> tuple[ToolResult, ...]:
    """The outputs in a text. Raises MatrixError where it is not XML of ntttcp."""
    if not (elements := _elements(text, file)):
        raise fault_at(file, 1, 1, "the file contains no output of ntttcp -xml")
    return tuple(_result(_NtttcpOutput(element, file)) for element in elements)


def _result(output: _NtttcpOutput) -> ToolResult:
    if not _KNOWN.fullmatch(output.version):
        output.unread.append(f"version {output.version!r} {tool_results.NOT_KNOWN}")
    settings = _settings(output)
    # An MB is 2^20 bytes on Windows and 10^6 on Linux, so the rate in MB/s is not read.
    rate: float | None = None
    if (per_second := output.number("throughput Bps")) is not None:
        rate = 8 * float(per_second)
    elif (megabits := output.number("throughput mbps")) is not None:
        rate = tool_results.bounded(1e6 * float(megabits))
    values: dict[str, Value] = {}
    failure: Failure = (None, None)
    if not rate:
        words = ("no-traffic", "ntttcp counted no byte")
        failure = (NOT_RECORDED, "the output has no throughput") if rate is None else words
    elif output.is_receiver:
        elapsed_s = float(output.number("realtime") or 0)
        elapsed_ns = tool_results.in_ns(elapsed_s if elapsed_s < 1e7 else None)
        values = tool_results.measured(throughput_bit_per_s=rate, elapsed_ns=elapsed_ns)
    else:
        values["sent_bit_per_s"] = rate
    if output.truth("parameters/latency_measurement"):
        output.unread.append("the times of single calls (-lm) are left out")
    if output.number("parameters/throughput_Bpms"):
        output.unread.append("the limit of the rate (-thr) is left out: it is that of a thread")
    other = (output.text("parameters/sender_name") or "")[:200]
    sender = "" if other in ("NA", "(null)") else other
    return output.result(
        settings,
        values,
        failure,
        server=output.computer if output.is_receiver else "",
        client=sender if output.is_receiver else output.computer,
    )


def _settings(output: _NtttcpOutput) -> dict[str, Value]:
    udp = output.truth("parameters/udp")
    if udp is None:
        output.unread.append("the output does not state whether it is of TCP or UDP")
        return {}

    def number(path: str, most: float) -> float | None:
        stated = output.number(path)
        return None if stated is None or stated > most else float(stated)

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
    "the XML of ntttcp or ntttcp-for-linux",
    "outputs of receivers or senders, or folders of them. Only a receiver's output has a "
    "throughput.",
)
