"""The report of a comparison: counts, differences and the verdict."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from changefold_tools.verify.results import Kind, TableResult, is_equal


def render(results: Sequence[TableResult], console: Console) -> None:
    """Print a table for current and one for history, the differences, the verdict."""
    for kind in ("current", "history"):
        chosen = [result for result in results if result.kind == kind]
        if chosen:
            console.print(_table_of(kind, chosen))
    for result in results:
        for sentence in _remarks(result):
            console.print(sentence, markup=False, highlight=False, soft_wrap=True)
    style = "green" if is_equal(results) else "bold red"
    console.print(_verdict(results), style=style, highlight=False, soft_wrap=True)


_COUNTS: Final = {
    "rows_expected": "rows expected",
    "equal": "equal",
    "missing": "missing",
    "extra": "extra",
    "different": "different",
    "excused": "excused",
    "not_carried": "not carried by this form",
    "only_virtual": "only virtual columns",
}


def _table_of(kind: Kind, results: Sequence[TableResult]) -> Table:
    # Columns which most corpora have no use for are shown only when they count.
    optional = {"excused", "not_carried", "only_virtual"}
    counts = [
        name
        for name in _COUNTS
        if name not in optional or any(getattr(result, name) for result in results)
    ]
    table = Table(title=kind, title_justify="left")
    table.add_column("table")
    for name in counts:
        table.add_column(_COUNTS[name], justify="right")
    for result in results:
        style = None if result.is_equal else "red"
        cells = [str(getattr(result, name)) for name in counts]
        table.add_row(escape(f"{result.database}.{result.table}"), *cells, style=style)
    return table


def _remarks(result: TableResult) -> Iterator[str]:
    name = f"{result.kind} {result.database}.{result.table}"
    for column, count in sorted(result.left_out.items()):
        yield f"{name}: {count} cells of the virtual column {column} were left out."
    for what, count in sorted(result.not_compared.items()):
        yield f"{name}: {count} {what} were not compared."
    for column, count in sorted(result.marked.items()):
        yield f"{name}: {count} values of {column} are marked as not known."
    for reason, count in sorted(result.reasons.items()):
        yield f"{name}: {count} listed differences are excused: {reason}."
    if result.stale:
        yield f"{name}: {result.stale} listed differences did not occur (stale)."
    for one in result.differences:
        yield f"{name}, {one.sentence()}"


def _verdict(results: Sequence[TableResult]) -> str:
    total = {name: sum(getattr(one, name) for one in results) for name in _COUNTS}
    aside = ", ".join(
        f"{total[name]} {_COUNTS[name]}"
        for name in ("excused", "not_carried", "only_virtual")
        if total[name]
    )
    others = sum(sum(one.not_compared.values()) for one in results)
    if others:
        aside += f"{', ' if aside else ''}{others} cells or others not compared"
    if is_equal(results):
        return f"all {total['equal']} rows equal" + (f" ({aside})" if aside else "")
    wrong = ", ".join(
        f"{total[name]} {name}" for name in ("missing", "extra", "different")
    )
    return f"NOT EQUAL: {wrong}; {total['equal']} of {total['rows_expected']} equal" + (
        f", {aside}" if aside else ""
    )
