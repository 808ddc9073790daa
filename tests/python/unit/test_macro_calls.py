"""Macros name the package of those they call, and functions of Python that are there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[3]
FILES: Final = sorted(
    path
    for folder in ("macros", "tests/dbt/generic")
    for path in (ROOT / folder).rglob("*.sql")
)
DEFINED: Final = {
    name
    for path in FILES
    for name in re.findall(r"\{%-?\s*macro\s+(\w+)", path.read_text("utf-8"))
}


def unnamed_calls(text: str) -> list[str]:
    """Return the macros that Jinja calls without the package's name."""
    code = re.sub(r"\{#.*?#\}|\{%-?\s*macro\s+\w+", "", text, flags=re.S)
    found = []
    for block in re.findall(r"\{%.*?%\}|\{\{.*?\}\}", code, flags=re.S):
        bare = re.sub(r"'[^']*'|\"[^\"]*\"", "''", block)
        found += re.findall(r"(?<![\w.])(\w+)\(", bare)
    return [name for name in found if name in DEFINED]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_macro_calls_those_of_the_package_by_its_name(path: Path) -> None:
    assert unnamed_calls(path.read_text("utf-8")) == []


def test_a_call_without_the_name_is_found() -> None:
    assert "quoted" in DEFINED
    assert unnamed_calls("{% set a = quoted(b) %}{{ 'quoted(' }}") == ["quoted"]
    assert unnamed_calls("{# quoted(b) #}{{ changefold.quoted(b) }} quoted(b)") == []


def test_functions_of_python_that_macros_call_are_there() -> None:
    called = {
        name
        for path in FILES
        for name in re.findall(r"call_python\(\s*'([\w.]+)'", path.read_text("utf-8"))
    }
    assert len(called) > 5
    for name in called:
        module, _, function = name.rpartition(".")
        assert callable(getattr(importlib.import_module(module), function)), name
