"""Texts of a topic in generated files and on a screen, so that they stay text.

A name, a comment, a default or a DDL can hold anything. Each function here writes it for
one kind of reader; what is harmless there is written as it is.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "TAG",
    "comment_line",
    "jinja_text",
    "markdown",
    "shown",
    "sql_name",
    "yml_text",
]

TAG: Final = re.compile(r"<(?=[A-Za-z/!?])")
"""Where HTML takes the text that follows for a tag."""

_CALL: Final = re.compile(r"\s*(env_var|ref|var|source|doc)\s*\(")
"""What dbt evaluates as an argument of a test, though it has no braces."""


def _escaped(character: str) -> str:
    """A character as Jinja and Python write it, if it does not show as itself."""
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shown(text: str) -> str:
    """Return a text for a screen: what does not show as itself, as an escape.

    So no text moves the cursor, colors a terminal or turns the direction of a line.
    """
    return "".join(map(_escaped, text))


def jinja_text(text: str) -> str:
    r"""Return a string literal of Jinja.

    Args:
        text: Any text.

    Returns:
        The literal with its quotes. Braces would be harmless in it, but dbt's scanner
        stops at them; and a search in dbt's docs shows that code as HTML.
    """
    escaped = shown(text.replace("\\", "\\\\").replace("'", "\\'"))
    escaped = escaped.replace("{", "\\x7b").replace("}", "\\x7d")
    escaped = TAG.sub("\\\\x3c", escaped)
    return f"'{escaped}'"


def sql_name(name: str) -> str:
    """Return a column's name for the text of a model: quoted, and inert for Jinja."""
    if not name.isprintable() or re.search(r"[{}#\\]", name):
        return "{{ changefold.quoted(" + jinja_text(name) + ") }}"
    return "`" + name.replace("`", "``") + "`"


def yml_text(text: str) -> str:
    """Return a value for a yml file of dbt, which renders it with Jinja."""
    if text.isprintable() and not re.search(r"[{}]", text) and not _CALL.match(text):
        return text
    return "{{ " + jinja_text(text) + " }}"


def markdown(text: str) -> str:
    """Return a text for a description, which dbt's docs show as markdown and as HTML."""
    return text.replace("<", "&lt;").replace("[", "&#91;")


def comment_line(text: str) -> str:
    """Return a text for a comment in SQL: readable, but not always the same."""
    return re.sub(r"[^\w.$ -]", "?", text)
