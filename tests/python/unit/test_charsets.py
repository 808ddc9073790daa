"""Columns that a DDL gives a character set with fewer characters."""

import msgspec
import pytest

from changefold.mysql.charsets import in_charset, narrower_charset
from changefold.schemas.fold import fold_schemas
from changefold.schemas.model import DdlEvent


@pytest.mark.parametrize(
    ("before", "after", "narrower"),
    [
        ("utf8mb4", "latin1", "latin1"),
        ("utf8mb4", "utf8mb3", "utf8mb3"),
        ("utf8mb4", "utf8mb4", None),
        ("latin1", "utf8mb4", None),
        ("gbk", "utf8mb3", None),
        ("utf8mb3", "utf8", None),
        ("ascii", "hebrew", None),
        ("latin1", "ascii", "ascii"),
        (None, "utf8mb4", None),
        (None, "latin1", "latin1"),
        (None, None, None),
        ("utf8mb4", None, "unknown"),
    ],
)
def test_a_character_set_may_lack_characters_of_another(
    before: str | None, after: str | None, narrower: str | None
) -> None:
    assert narrower_charset(before, after) == narrower


@pytest.mark.parametrize(
    ("text", "charset", "held"),
    [
        ("plain", "gbk", "plain"),
        ("日本", "gbk", None),
        ("ü", "unknown", None),
        ("naïve € \x81", "latin1", "naïve € \x81"),
        ("żółw\u0142 日本 😀", "latin1", "?ó?w? ?? ?"),
        ("aü😀", "ascii", "a??"),
        ("日本 😀\uffff", "utf8mb3", "日本 ?\uffff"),
        ("e\u0301", "latin1", "e?"),
    ],
)
def test_what_it_lacks_is_lost(text: str, charset: str, held: str | None) -> None:
    assert in_charset(text, charset) == held


def charsets_after(*statements: str, is_of_tidb: bool = False) -> dict[str, str | None]:
    """Fold statements; return what the last one did to texts, by column."""
    events = [
        DdlEvent(f"{number:020}", "d", "t", sql, is_of_tidb=is_of_tidb)
        for number, sql in enumerate(statements)
    ]
    changes = fold_schemas(events)[-1].image_changes
    return {str(c.to_name): c.to_charset for c in changes if c.changes_text}


WIDE = "CREATE TABLE t (id int PRIMARY KEY, a varchar(9), b text) CHARSET utf8mb4"


@pytest.mark.parametrize(
    ("statements", "changed"),
    [
        (
            [WIDE, "ALTER TABLE t CONVERT TO CHARACTER SET latin1"],
            {"a": "latin1", "b": "latin1"},
        ),
        (
            [
                WIDE,
                "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            ],
            {},
        ),
        (
            [WIDE, "ALTER TABLE t CONVERT TO CHARACTER SET DEFAULT"],
            {"a": "unknown", "b": "unknown"},
        ),
        ([WIDE, "ALTER TABLE t CHARACTER SET latin1"], {}),
        (
            [
                WIDE,
                "ALTER TABLE t CHARACTER SET latin1",
                "ALTER TABLE t MODIFY a varchar(10)",
            ],
            {"a": "latin1"},
        ),
        ([WIDE, "ALTER TABLE t MODIFY a varchar(10)"], {}),
        (
            [WIDE, "ALTER TABLE t MODIFY a varchar(9) COLLATE latin1_bin"],
            {"a": "latin1"},
        ),
        (
            [
                "CREATE TABLE t (id int PRIMARY KEY, a varchar(9))",
                "ALTER TABLE t MODIFY a varchar(10)",
            ],
            {},
        ),
        ([WIDE, "ALTER TABLE t MODIFY a int"], {"a": None}),
    ],
)
def test_a_statement_changes_texts_where_it_takes_characters(
    statements: list[str], changed: dict[str, str | None]
) -> None:
    assert charsets_after(*statements) == changed


def test_tidb_refuses_to_lose_characters() -> None:
    latin1 = "ALTER TABLE t CONVERT TO CHARACTER SET latin1"
    assert charsets_after(WIDE, latin1, is_of_tidb=True) == {}


def test_a_default_that_rows_before_show_loses_them_too() -> None:
    added = "ALTER TABLE t ADD COLUMN c varchar(9) NOT NULL DEFAULT 'ż'"
    latin1 = "ALTER TABLE t MODIFY c varchar(9) CHARACTER SET latin1 NOT NULL"
    events = [
        DdlEvent(f"{number:020}", "d", "t", sql, is_of_tidb=False)
        for number, sql in enumerate((WIDE, added, latin1))
    ]
    column = fold_schemas(events)[-1].columns[-1]
    assert msgspec.to_builtins(column)["original_default"] == "?"
