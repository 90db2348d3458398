"""A YAML 1.2 document is read with the position of each value, and its faults have places."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field

from netlab.config.document import Section, load_document, read_document, validate
from netlab.errors import MatrixError, UsageError


def faults_of(text: str | bytes) -> list[str]:
    with pytest.raises(MatrixError) as caught:
        load_document(text, "f.yaml")
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("-5", -5),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("'5'", "5"),
        ('"no"', "no"),
        ("!!str 5", "5"),
    ],
)
def test_scalars_have_the_types_of_yaml_1_2(scalar: str, value: object) -> None:
    data = load_document(f"key: {scalar}", "f.yaml").data["key"]
    assert data == value
    assert type(data) is type(value)


def test_yaml_keys_are_read_as_text_exactly_as_written() -> None:
    assert load_document("no: 1\n010: 2\ntrue: 3", "f").data == {"no": 1, "010": 2, "true": 3}


def test_a_document_with_byte_order_mark_and_windows_line_ends_is_read() -> None:
    document = load_document(b"\xef\xbb\xbfa: 1\r\nb: [2, 3]\r\n", "f.yaml")
    assert document.data == {"a": 1, "b": [2, 3]}
    assert str(document.fault(("b", 1), "x")) == "f.yaml:2:8: b[1]: x"


def test_an_alias_has_the_value_of_its_anchor() -> None:
    document = load_document("a: &x {b: [1, 2]}\nc: *x", "f.yaml")
    assert document.data["c"] == {"b": [1, 2]}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\nb: 2\na: 3", "f.yaml:3:1: a: the key is given twice; first in line 1"),
        ("a:\n  b: 1\n  b: 2", "f.yaml:3:3: a.b: the key is given twice; first in line 2"),
        ("a: *b", "f.yaml:1:4: a: the alias *b has no anchor &b before it"),
        ("a: &a [*a]", "f.yaml:1:8: the alias *a is inside the value of &a"),
        ("x: &x {a: 1}\ny: {<<: *x}", "f.yaml:2:5: y: YAML 1.2 has no merge keys (<<)"),
        ("a: !!python/object:os.system x", "f.yaml:1:4: a: the tag !!python/object:os.system"),
        ("a:\n\tb: 1", "f.yaml:2:1: there is a tab here"),
        ("a: 1\nb: \0", "f.yaml:2:4: there is a NUL byte here"),
        ("a: \x07", "f.yaml:1:4: there is the control character U+0007"),
        (b"a: 1\nb: \xe9", "f.yaml:2:4: the byte 0xe9 is not UTF-8"),
        ("a: 1".encode("utf-16"), "f.yaml:1:1: the file is UTF-16; save it as UTF-8"),
        ("", "f.yaml:1:1: the file is empty"),
        ("# only this\n", "f.yaml:1:1: the file is empty"),
        ("~", "f.yaml:1:1: the file is empty"),
        ("- 1", "f.yaml:1:1: the file is not a mapping"),
        ("a: 1\n---\nb: 2", "f.yaml:2:1: a second document begins here"),
        ("a: [1\nb: 2", "f.yaml:1:4: `[` is not closed; netlab noticed this in line 2, column 2"),
        ('a: "\\Uffffffff"', "f.yaml:1:5: \\Uffffffff is not a Unicode"),
        ('a: "\\ud800"', "f.yaml:1:4: a: an escape here stands for a character"),
        ("a: .inf", "f.yaml:1:4: a: .inf is not a finite number"),
        ("a: 1e999", "f.yaml:1:4: a: 1e999 is too large a number"),
        ("? [a]\n: 1", "f.yaml:1:3: a key must be a plain word"),
    ],
)
def test_each_refused_yaml_construct_is_reported_with_its_place(
    text: str | bytes, fault: str
) -> None:
    (line,) = faults_of(text)
    assert line.startswith(fault)


def test_several_faults_of_a_document_are_reported_together_in_file_order() -> None:
    lines = faults_of("a: !!int 1\nb: .nan\nc: 1\nc: 2")
    assert [line.split(":")[1] for line in lines] == ["1", "2", "4"]


@given(st.text(max_size=200))
def test_any_text_loads_as_a_document_or_raises_faults_with_places(text: str) -> None:
    try:
        load_document(text, "f")
    except MatrixError as error:
        assert error.faults
        assert all(fault.line >= 1 and fault.column >= 1 for fault in error.faults)


@example(b"\r'")
@given(st.binary(max_size=200))
def test_any_bytes_load_as_a_document_or_raise_a_list_of_faults(content: bytes) -> None:
    try:
        load_document(content, "f")
    except MatrixError as error:
        assert error.faults


@given(
    st.lists(st.sampled_from([*"[]{}&*!|>'\"%@`,:-?#\n\t ", "a", "&a ", "*a", "<<"]), max_size=40)
)
def test_any_mix_of_yaml_signs_loads_as_a_document_or_raises_a_list_of_faults(
    signs: list[str],
) -> None:
    try:
        load_document("".join(signs), "f")
    except MatrixError as error:
        assert error.faults


def test_an_unreadable_document_is_reported_by_its_file_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.yaml: cannot be read: No such file"):
        read_document(tmp_path / "missing.yaml")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_document(tmp_path)


class Inner(Section):
    port: int = Field(ge=1, le=65535)
    user: str = "root"


class Outer(Section):
    name: str
    kind: Literal["small", "large"] = "small"
    inner: dict[str, Inner] = Field(default_factory=dict)
    sizes: Annotated[list[int], Field(min_length=1)] = Field(default_factory=lambda: [1])
    ends: tuple[Inner, ...] = ()
    source: Inner | None = Field(default=None, alias="from")


def complaints_of(text: str, model: Any = Outer) -> list[str]:
    with pytest.raises(MatrixError) as caught:
        validate(load_document(text, "f.yaml"), model)
    return str(caught.value).splitlines()


def test_a_document_is_converted_into_a_model_object() -> None:
    model = validate(load_document("name: x\nfrom: {port: 2}\nsizes: [3]", "f"), Outer)
    assert (model.name, model.source, model.sizes) == ("x", Inner(port=2), [3])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name: x\nkindd: small", "f.yaml:2:1: kindd: unknown key; did you mean `kind`?"),
        ("name: x\nkind: smal", "f.yaml:2:7: kind: `smal` is not one of small, large; did you"),
        ("nam: x", "f.yaml:1:1: name: the key is missing; is `nam` misspelt?"),
        ("name: 5", "f.yaml:1:7: name: 5 should be text"),
        ("name:", "f.yaml:1:1: name: has no value"),
        ("name: x\nsizes: []", "f.yaml:2:8: sizes: is empty"),
        ("name: x\nsizes: 5", "f.yaml:2:8: sizes: 5 should be a list"),
        ("name: x\nsizes: [1, 2.5]", "f.yaml:2:12: sizes[1]: 2.5 should be a whole number"),
        ("name: x\nsizes: [1, true]", "f.yaml:2:12: sizes[1]: true should be a whole number"),
        ("name: x\ninner: {a: {port: 0}}", "f.yaml:2:19: inner.a.port: 0 should be at least 1"),
        ("name: x\ninner: {port: {prot: 1, port: 2}}", "f.yaml:2:16: inner.port.prot: unknown key"),
        ("name: x\ninner: {a: 5}", "f.yaml:2:12: inner.a: 5 should be a mapping"),
        (
            "name: x\nfrom: {port: 1, usr: y}",
            "f.yaml:2:17: from.usr: unknown key; did you mean `us",
        ),
    ],
)
def test_each_invalid_key_or_value_of_a_document_is_reported_at_its_place(
    text: str, fault: str
) -> None:
    assert complaints_of(text)[0].startswith(fault)


def test_a_fault_within_an_alias_is_reported_at_the_anchor() -> None:
    text = "name: x\ninner:\n  a: &a {port: 0}\n  b: *a"
    assert complaints_of(text) == [
        "f.yaml:3:16: inner.a.port: 0 should be at least 1",
        "f.yaml:3:16: inner.b.port: 0 should be at least 1",
    ]
