"""Exported lines show a name as who reads it sees it."""

from typing import Any

from changefold_tools.export import Handovers
from changefold_tools.shapes import TableName, TableShape

AT = f"{7:020}"


def shape(*names: TableName) -> TableShape:
    last = names[-1]
    return TableShape(
        topic="t",
        database=last.database,
        table=last.table,
        columns={},
        live=[],
        key_columns=["id"],
        virtual=[],
        rewritten_at=[],
        reshaped_at=[],
        names=list(names),
    )


def line(table: str, id_: str, op: str, row: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "database": "shop",
        "table": table,
        "pk": {"id": id_},
        "commitTs": 7,
        "op": op,
        "row": row,
    }


def test_a_key_of_two_tables_is_updated_where_one_takes_the_name_of_the_other() -> None:
    handovers = Handovers(
        [
            shape(TableName("shop", "a", None, AT), TableName("shop", "old", AT)),
            shape(TableName("shop", "new", None, AT), TableName("shop", "a", AT)),
        ]
    )
    first, second = {"id": "1", "v": "x"}, {"id": "1", "w": "y"}
    assert not handovers.holds(line("old", "1", "I", first), None)
    assert not handovers.holds(line("new", "1", "D", None), second)
    assert handovers.holds(line("a", "1", "D", None), first)
    assert handovers.holds(line("a", "1", "I", second), None)
    assert handovers.holds(line("a", "2", "D", None), {"id": "2", "v": None})
    assert handovers.holds(line("a", "3", "I", {"id": "3"}), None)
    assert handovers.holds(line("a", "4", "D", None), {"id": "4"})
    assert handovers.holds(line("a", "4", "I", {"id": "4"}), None)
    assert list(handovers.lines()) == [
        line("a", "1", "U", second),
        line("a", "2", "D", None),
        line("a", "3", "I", {"id": "3"}),
    ]


def test_a_name_that_is_taken_later_shows_no_row_in_between() -> None:
    later = f"{8:020}"
    handovers = Handovers(
        [
            shape(TableName("shop", "a", None, AT), TableName("shop", "old", AT)),
            shape(TableName("shop", "new", None, later), TableName("shop", "a", later)),
        ]
    )
    assert not handovers.holds(line("a", "1", "D", None), {"id": "1"})
