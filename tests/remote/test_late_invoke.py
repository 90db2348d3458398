"""paramiko is imported without invoke, and gets it if ~/.ssh/config needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.lab

BEGIN = """\
import sys
from netlab.remote.agent import import_paramiko
import_paramiko()
import paramiko
"""


def printed(program: str) -> str:
    words = [sys.executable, "-c", BEGIN + program]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_paramiko_is_imported_without_invoke() -> None:
    assert printed("print('invoke' in sys.modules)") == "False\n"


def test_a_program_that_imports_invoke_gets_the_real_module() -> None:
    pytest.importorskip("invoke")
    assert printed("import invoke\nprint(hasattr(invoke, 'task'))") == "True\n"


def test_an_ssh_configuration_with_match_exec_uses_invoke() -> None:
    pytest.importorskip("invoke")
    config = "Match exec true\n  Port 2201\nMatch exec false\n  Port 2202\n"
    program = f"print(paramiko.SSHConfig.from_text({config!r}).lookup('far')['port'])"
    assert printed(program) == "2201\n"
