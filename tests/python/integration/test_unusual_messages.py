"""What Canal and TiCDC send that is seldom seen, from the messages to the tables.

Rolled back XA transactions, statements that few parsers know, partial JSON, updates without
old values, foreign keys whose cascades no message tells, rows in part, and compressed
messages. All topics go through the same builds, as a build costs many seconds.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark

from changefold_tools.generate.models import update_models
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

EPOCH: Final = 1_795_263_000_000
"""Times of the messages count from here, in whole seconds as Canal tells them."""

Row = dict[str, str | None]


class Canal:
    """A topic of Canal in the making."""

    def __init__(self, database: str) -> None:
        self.database = database
        self.records: list[dict[str, Any]] = []
        self._next: dict[int, int] = {}

    def send(self, second: int, partition: int = 0, **fields: Any) -> None:
        """Add a message."""
        message = {
            "data": None,
            "database": self.database,
            "es": EPOCH + second * 1000,
            "gtid": "",
            "id": second + 1,
            "isDdl": False,
            "mysqlType": None,
            "old": None,
            "pkNames": None,
            "sql": "",
            "sqlType": None,
            "table": "",
            "ts": EPOCH + second * 1000 + 400,
            **fields,
        }
        offset = self._next.get(partition, 0)
        self._next[partition] = offset + 1
        value = json.dumps(message)
        record = {"partition": partition, "offset": offset, "value": value}
        self.records.append(record)

    def ddl(self, second: int, table: str, sql: str, type_: str = "ALTER") -> None:
        self.send(second, isDdl=True, table=table, sql=sql, type=type_)

    def xa(self, second: int, type_: str) -> None:
        sql = f"{type_.replace('XA', 'XA ')} X'62{second:02}',X'',1"
        self.send(second, database="", type=type_, sql=sql)

    def row(  # noqa: PLR0913, PLR0917 # a message has as many parts
        self,
        second: int,
        table: str,
        type_: str,
        row: Row,
        old: Row | None = None,
        partition: int = 0,
    ) -> None:
        types = {name: "int(11)" if name == "id" else "varchar(90)" for name in row}
        if "doc" in row:
            types["doc"] = "json"
        self.send(
            second,
            partition,
            table=table,
            type=type_,
            data=[row],
            old=None if old is None else [old],
            mysqlType=types,
            sqlType=dict.fromkeys(types, 12),
            pkNames=["id"],
        )

    def taken(self) -> list[dict[str, Any]]:
        """Return the messages that were not taken yet."""
        taken, self.records = self.records, []
        return taken


def _create(canal: Canal, second: int, *tables: str) -> None:
    for table in tables:
        sql = f"CREATE TABLE `{table}` (`id` int NOT NULL, PRIMARY KEY (`id`))"
        canal.ddl(second, table, sql, "CREATE")


def _xa(canal: Canal) -> None:
    """Let a transaction be rolled back whose rows were in `rooms`."""
    _create(canal, 0, "rooms", "guests", "bills", "keys")
    canal.row(1, "rooms", "INSERT", {"id": "1"})
    canal.row(1, "bills", "INSERT", {"id": "1"})
    canal.row(1, "keys", "INSERT", {"id": "1"})
    canal.ddl(2, "bills", "TRUNCATE TABLE bills", "TRUNCATE")
    canal.ddl(2, "keys", "DROP TABLE `keys`", "ERASE")
    canal.row(3, "rooms", "INSERT", {"id": "2"})
    canal.xa(4, "XAROLLBACK")
    canal.row(5, "guests", "INSERT", {"id": "7"})
    canal.xa(6, "XACOMMIT")


def _copy(canal: Canal) -> None:
    """Put a copy in the place of `rooms`: its rows are known again."""
    canal.ddl(10, "rooms_new", "CREATE TABLE rooms_new LIKE rooms", "CREATE")
    canal.row(11, "rooms_new", "INSERT", {"id": "1"})
    sql = "RENAME TABLE rooms TO rooms_old, rooms_new TO rooms"
    canal.ddl(12, "rooms_old", sql, "RENAME")
    canal.ddl(13, "rooms_old", "DROP TABLE rooms_old", "ERASE")


def _parted(canal: Canal) -> None:
    """Let rows and rollback be of one second, in partitions without an order."""
    _create(canal, 0, "t")
    canal.row(2, "t", "INSERT", {"id": "1"}, partition=2)
    canal.xa(2, "XAROLLBACK")


def _odd(canal: Canal) -> None:
    _create(canal, 0, "shelves", "boxes", "jars", "lids", "mugs")
    canal.row(1, "shelves", "INSERT", {"id": "1"})
    canal.row(1, "boxes", "INSERT", {"id": "1"})
    canal.ddl(2, "", "CREATE TABLESPACE `s` ADD DATAFILE 's.ibd'", "QUERY")
    canal.ddl(2, "", "MAKE IT SO", "QUERY")
    canal.ddl(2, "", "ALTER TABLE jars TURN INTO GOLD", "QUERY")
    canal.ddl(2, "lids", "ALTER TABLE lids TURN INTO GOLD")
    canal.ddl(2, "mugs", "ALTER IGNORE TABLE mugs ADD UNIQUE (id)")
    canal.ddl(3, "shelves", "TRUNCATE TABLE shelves NOWAIT", "TRUNCATE")
    canal.ddl(
        4,
        "boxes",
        "ALTER TABLE .`boxes` WAIT 9 ADD COLUMN `size` varchar(9) NOT SECONDARY"
        " NOT NULL DEFAULT 'big', ADD COLUMN doc json",
    )
    box: Row = {"id": "2", "size": "big", "doc": '{"a": 1}'}
    canal.row(5, "boxes", "INSERT", box)
    canal.row(6, "boxes", "UPDATE", box | {"size": "small"})
    canal.row(5, "boxes", "INSERT", box | {"id": "3"})
    partial = "JSON_SET(JSON_REPLACE(doc, '$.a', 5), '$.b', 6)"
    canal.row(7, "boxes", "UPDATE", box | {"id": "3", "doc": partial}, {"doc": "{}"})
    for number, document in enumerate(('"JSON_SET(doc)"', " [1]", "null", "-1.5")):
        canal.row(8, "boxes", "INSERT", box | {"id": f"1{number}", "doc": document})
    canal.row(8, "boxes", "INSERT", box | {"id": "20", "doc": None})
    canal.row(8, "boxes", "INSERT", box | {"id": "21", "doc": "doc"})


def _cascades(canal: Canal) -> None:
    _create(canal, 0, "parent")
    reference = "FOREIGN KEY (p) REFERENCES parent (id) ON"
    create = "CREATE TABLE {} (id int PRIMARY KEY, p int, {} {})"
    for table, action in [
        ("deleted", "DELETE CASCADE"),
        ("emptied", "UPDATE SET NULL"),
        ("kept", "DELETE RESTRICT"),
        ("gone", "DELETE CASCADE"),
    ]:
        canal.ddl(1, table, create.format(table, reference, action), "CREATE")
    canal.ddl(2, "added", "CREATE TABLE added (id int PRIMARY KEY, p int)", "CREATE")
    canal.ddl(3, "added", f"ALTER TABLE added ADD {reference} DELETE SET DEFAULT")
    canal.ddl(4, "gone", "DROP TABLE gone", "ERASE")


def _in_part(canal: Canal) -> None:
    """Leave out, as a binlog without long values, what did not change."""
    sql = "CREATE TABLE parts (id int PRIMARY KEY, name varchar(9), body varchar(90))"
    canal.ddl(0, "parts", sql, "CREATE")
    for number in ("1", "2"):
        row: Row = {"id": number, "name": "a", "body": f"long {number}"}
        canal.row(1, "parts", "INSERT", row)
    canal.row(2, "parts", "UPDATE", {"id": "1", "name": "b"}, {"name": "a"})
    canal.row(3, "parts", "INSERT", {"id": "3", "name": "a"})
    canal.row(4, "parts", "DELETE", {"id": "2", "name": "a"})
    canal.row(5, "parts", "INSERT", {"id": "2", "name": "anew"})


def _more_in_part(canal: Canal) -> None:
    for number in ("1", "2"):
        canal.row(6, "parts", "UPDATE", {"id": number, "name": "c"}, {"name": "b"})
    canal.row(7, "parts", "UPDATE", {"id": "3", "body": "told"}, {"body": "?"})


def _selected() -> list[dict[str, Any]]:
    """Send no more, behind the first row, what the changefeed does not select."""
    create = "CREATE TABLE selected (id INT PRIMARY KEY, v INT, hidden INT DEFAULT 7)"
    values = [
        ddl(create, 100, table="selected"),
        change("INSERT", {"id": "1", "v": "1", "hidden": "5"}, 110, table="selected"),
        change("INSERT", {"id": "2", "v": "2", "hidden": "5"}, 120, table="selected"),
        change("UPDATE", {"id": "2", "v": "3"}, 130, old={"v": "2"}, table="selected"),
        change("INSERT", {"id": "3", "v": "3"}, 140, table="selected"),
        watermark(200),
    ]
    return [
        {"partition": 0, "offset": offset, "value": value}
        for offset, value in enumerate(values)
    ]


def _compressed() -> list[dict[str, Any]]:
    def lz4(value: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "lz4") as stream:
            stream.write(value)
        return bytes(sink.getvalue().to_pybytes())

    def snappy(value: bytes) -> bytes:
        return bytes(pa.compress(value, codec="snappy", asbytes=True))

    create = "CREATE TABLE `t` (`id` INT PRIMARY KEY,`v` VARCHAR(9))"
    texts = [ddl(create, 100)]
    types = {"id": "int", "v": "varchar"}
    texts += [
        change("INSERT", {"id": str(n), "v": "a"}, 110 + n, types=types)
        for n in range(3)
    ]
    texts.append(watermark(200))
    values = [
        json.dumps(json.loads(text), separators=(",", ":")).encode() for text in texts
    ]
    written = [lz4(values[0]), lz4(values[1]), snappy(values[2]), values[3]]
    written += [snappy(values[4]), lz4(values[1])[:-3]]
    return [
        {
            "partition": 0,
            "offset": offset,
            "value_base64": base64.b64encode(value).decode(),
        }
        for offset, value in enumerate(written)
    ]


@dataclass
class Outcome:
    """What stood in the tables.

    Attributes:
        doubts: Of each build: table, and whether it was known again.
        reasons: Of the first build, by table.
        rows: Of the tables with a model.
        control: Of the topic with XA transactions: control messages, quarantined ones.
        cascades: Child and parent tables that the test warns of.
        quarantined: Class and sentence of what was not read, and its first bytes.
    """

    doubts: list[set[tuple[str, bool]]]
    reasons: dict[str, str]
    rows: dict[str, list[dict[str, Any]]]
    control: tuple[int, int]
    cascades: set[tuple[str, str]]
    quarantined: list[tuple[str, str, bytes]]


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    names = ("xa", "parted", "odd", "fk", "part")
    canals = {name: Canal(name) for name in names}
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(
            folder,
            {**dict.fromkeys(names, 1), "parted": 3, "lz": 1, "sel": 1},
            **{name: {"protocol": "canal_json"} for name in names},
        )
        _xa(canals["xa"])
        _parted(canals["parted"])
        _odd(canals["odd"])
        _cascades(canals["fk"])
        _in_part(canals["part"])
        for name, canal in canals.items():
            pipeline.land("first", name, canal.taken())
        pipeline.land("first", "lz", _compressed())
        pipeline.land("first", "sel", _selected())
        pipeline.dbt(
            "build", "--quiet", "--select", "+table_schemas", "+needs_snapshot"
        )

        def doubts() -> list[dict[str, Any]]:
            return pipeline.rows("select * from verify.needs_snapshot")

        seen = [doubts()]
        update_models(folder, "verify", check=False)
        _copy(canals["xa"])
        pipeline.land("second", "xa", canals["xa"].taken())
        _more_in_part(canals["part"])
        pipeline.land("second", "part", canals["part"].taken())
        pipeline.dbt("build", "--quiet", "--store-failures")
        seen.append(doubts())
        balance = pipeline.rows(
            "select control, quarantined from verify.balance where kafka_topic = 'xa'"
        )[0]
        cascades = pipeline.rows(
            "select * from verify_dbt_test__audit.no_cascade_is_missing_from_the_log"
        )
        quarantined = pipeline.rows(
            "select error_class, error_message, value from verify.quarantined_messages"
        )
        yield Outcome(
            doubts=[
                {
                    (
                        f"{row['source_database']}.{row['source_table']}",
                        row["cleared_sequence"] is not None,
                    )
                    for row in rows
                }
                for rows in seen
            ],
            reasons={row["source_table"]: row["reason"] for row in seen[0]},
            rows={
                model: pipeline.rows(f"select * from verify.{model} order by id")
                for model in (
                    *("cur_odd__shelves", "cur_odd__boxes", "cur_db__t"),
                    *("cur_part__parts", "cur_db__selected"),
                )
            },
            control=(balance["control"], balance["quarantined"]),
            cascades={(row["source_table"], row["parent_table"]) for row in cascades},
            quarantined=[
                (row["error_class"], row["error_message"], bytes(row["value"][:4]))
                for row in quarantined
            ],
        )


def test_after_an_xa_rollback_the_tables_with_changes_before_it_are_in_doubt(
    outcome: Outcome,
) -> None:
    of_xa = {doubt for doubt in outcome.doubts[0] if doubt[0].startswith("xa.")}
    assert of_xa == {("xa.rooms", False)}
    assert "XA ROLLBACK" in outcome.reasons["rooms"]
    assert "TRUNCATE or DROP" in outcome.reasons["rooms"]


def test_rows_of_the_second_of_a_rollback_count_where_partitions_have_no_order(
    outcome: Outcome,
) -> None:
    assert ("parted.t", False) in outcome.doubts[0]


def test_a_copy_in_the_place_of_a_table_makes_it_known_again(outcome: Outcome) -> None:
    assert ("xa.rooms", True) in outcome.doubts[1]
    assert ("xa.rooms", False) not in outcome.doubts[1]


def test_the_ends_of_xa_transactions_are_control_messages(outcome: Outcome) -> None:
    assert outcome.control == (4 + 2 + 2 + 3, 0)


def test_a_statement_leaves_doubt_about_the_tables_that_it_names_and_no_others(
    outcome: Outcome,
) -> None:
    of_odd = {doubt for doubt in outcome.doubts[0] if doubt[0].startswith("odd.")}
    assert of_odd == {("odd.jars", False), ("odd.lids", False), ("odd.mugs", False)}
    assert outcome.reasons["jars"].startswith("The statement was not understood: ")
    assert outcome.reasons["mugs"].endswith("that a new unique key does not allow")
    assert not {name for name, _ in outcome.doubts[0] if name.endswith(".")}


def test_seldom_statements_and_updates_without_old_are_applied(
    outcome: Outcome,
) -> None:
    assert outcome.rows["cur_odd__shelves"] == []
    sizes = {row["id"]: row["size"] for row in outcome.rows["cur_odd__boxes"]}
    assert sizes[1] == "big"
    assert sizes[2] == "small"


def test_a_call_that_changes_a_document_is_no_document(outcome: Outcome) -> None:
    documents = {
        row["id"]: (row["doc"], row["_cdc_conversion_failures"])
        for row in outcome.rows["cur_odd__boxes"]
    }
    partial = "JSON_SET(JSON_REPLACE(doc, '$.a', 5), '$.b', 6)"
    assert documents == {
        1: (None, None),
        2: ('{"a": 1}', None),
        3: (None, {"doc": partial}),
        10: ('"JSON_SET(doc)"', None),
        11: (" [1]", None),
        12: ("null", None),
        13: ("-1.5", None),
        20: (None, None),
        21: (None, {"doc": "doc"}),
    }


def test_cascades_that_no_message_tells_are_named(outcome: Outcome) -> None:
    assert outcome.cascades == {
        ("deleted", "parent"),
        ("emptied", "parent"),
        ("added", "parent"),
    }


def test_a_column_that_a_row_leaves_out_keeps_its_value_or_is_unknown(
    outcome: Outcome,
) -> None:
    parts = {
        row["id"]: (row["name"], row["body"], row["_cdc_unknown_columns"])
        for row in outcome.rows["cur_part__parts"]
    }
    # Of a row that began anew, the one before of its key tells nothing.
    assert parts == {
        1: ("c", "long 1", None),
        2: ("c", None, ["body"]),
        3: ("a", "told", None),
    }
    assert "Rows leave out columns" in outcome.reasons["parts"]


def test_a_column_that_a_changefeed_does_not_select_is_unknown(
    outcome: Outcome,
) -> None:
    selected = {
        row["id"]: (row["v"], row["hidden"], row["_cdc_unknown_columns"])
        for row in outcome.rows["cur_db__selected"]
    }
    assert selected == {
        1: (1, 5, None),
        2: (3, None, ["hidden"]),
        3: (3, None, ["hidden"]),
    }


def test_compressed_messages_are_read_and_a_broken_one_keeps_its_bytes(
    outcome: Outcome,
) -> None:
    rows = outcome.rows["cur_db__t"]
    assert [(row["id"], row["v"]) for row in rows] == [(0, "a"), (1, "a"), (2, "a")]
    ((error_class, sentence, start),) = outcome.quarantined
    assert error_class == "broken_compression"
    assert "LZ4" in sentence
    assert start == b"\x04\x22\x4d\x18"
