"""Sentences for the failures that a new user meets first.

Spark answers most of them with a Java stack trace. `explain` finds the cause in the
text of an exception and says what to do; anything else is passed on in one line.
"""

from __future__ import annotations

import re
from typing import Final

from dbt.adapters.sparksession.secrets import mask

KNOWN_FAILURES: Final[tuple[tuple[str, str], ...]] = (
    (
        r"SQLITE_BUSY|SQLITE_LOCKED|database is locked",
        (
            "The catalog file is locked by another process: another `dbt` run writes to "
            "the same warehouse. Wait for it to end, then run again; nothing was changed "
            "by this statement."
        ),
    ),
    (
        r"SQLITE_READONLY|SQLITE_CANTOPEN|readonly database",
        (
            "The catalog file of the warehouse can not be written. Check the owner and "
            "the rights of the folder given as `warehouse` in profiles.yml."
        ),
    ),
    (
        r"No space left on device",
        (
            "The disk of the warehouse is full. Free some room and run again: the tables "
            "are as they were before the statement that failed."
        ),
    ),
    (
        r"Permission denied|AccessControlException|Mkdirs failed to create",
        (
            "The warehouse can not be written. Check the rights of the folder given as "
            "`warehouse` in profiles.yml."
        ),
    ),
    (
        r"ModuleNotFoundError: No module named '?(?P<detail>[\w.]+)",
        (
            "A Python worker of Spark lacks a module: install this project into the "
            "Python of every executor, or use the `cluster` target, which ships its code."
        ),
    ),
)
"""Patterns in Spark's message, and what they mean for the person at the keyboard."""

# Spark appends its plan, often hundreds of lines, to what it says of a statement.
_PLAN: Final = re.compile(r"(SQLSTATE: \w{5})(; line \d+ pos \d+)?;\n.*", re.DOTALL)

_STACK_LINE: Final = re.compile(r"^\s*at [\w.$]+\(.*\)$|^\s*\.\.\. \d+ more$")


def explain(message: str) -> str:
    """Return Spark's message without stack trace and secrets, led by a sentence if known."""
    message = mask(message)
    lines = [line for line in message.splitlines() if not _STACK_LINE.match(line)]
    text = _PLAN.sub(r"\1\2", "\n".join(lines)).strip()
    for pattern, sentence in KNOWN_FAILURES:
        found = re.search(pattern, message)
        if found:
            head = text.splitlines()[0] if text else ""
            return f"{sentence}\n  ({found.group(0)}: {head[:300]})"
    return text
