"""Generated models: their text, and how they are written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest

from changefold.connect.column_types import TypeSeed, common_type
from changefold.mysql import types as mysql_types
from changefold.mysql.types import parse_mysql_type
from changefold_tools.generate.models import write_models
from changefold_tools.generate.render import TableModels, model_name, table_rows
from changefold_tools.generate.sources import render_sources
from changefold_tools.generate.table_history import (
    TableShape,
    parse_type,
    shape_from_versions,
    shapes_from_versions,
)

PROJECT = Path(__file__).parents[3]
SEED = TypeSeed(PROJECT / "seeds")


def _column(column_id: int, name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "column_id": column_id,
        "name": name,
        "type": kind,
        "generated": None,
        "is_in_rows": True,
        "original_default": None,
        "original_default_accuracy": None,
        "comment": None,
        **more,
    }


def _version(since: str, columns: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "kafka_topic": "topic",
        "source_database": "shop",
        "source_table": "orders",
        "table_uid": "shop.orders@1",
        "valid_from_sequence": since,
        "columns": columns,
        "key_columns": ["id"],
        "image_changes": [],
        "is_dropped": False,
        "key_changed": False,
        "unknown_columns": [],
        "partition_changes": [],
        "row_effect": "none",
        "ddl_sql": "",
        **more,
    }


ID = _column(1, "id", "int")


def _history(*versions: dict[str, Any]) -> str:
    return TableModels(shape_from_versions(list(versions)), SEED).history()


def test_a_column_added_later_shows_its_default_on_rows_written_before() -> None:
    added = _column(2, "n", "int", original_default="7")
    change = {"column_id": 2, "kind": "added", "changes_text": True}
    text = _history(
        _version("1", [ID]), _version("2", [ID, added], image_changes=[change])
    )
    assert "ddls=[\n            '2',\n        ]" in text
    assert "written_sequence <= '2'" in text
    assert "{{ sql_text('7') }}" in text
    assert "when held_at > '2'" in text


def test_a_row_from_before_an_unknown_default_names_the_column() -> None:
    added = _column(2, "n", "int", original_default_accuracy="unknown")
    change = {"column_id": 2, "kind": "added", "changes_text": True}
    versions = [_version("1", [ID]), _version("2", [ID, added], image_changes=[change])]
    text = _history(*versions)
    assert "changefold.unknown_columns({\n            'n': [('2', none)]," in text
    table = TableModels(shape_from_versions(versions), SEED)
    counted = table_rows([table])["current/table_rows.sql"]
    assert "changefold.unknown_values(['n'])" in counted
    # A column that was there from the beginning has its value in each row.
    assert "unknown_columns({" not in _history(_version("1", [ID, added]))


def test_a_column_that_the_source_computes_anew_is_null_and_named() -> None:
    column = _column(2, "s", "int", generated="stored")
    change = {
        "column_id": 2,
        "kind": "retyped",
        "changes_text": True,
        "from_type": "int",
        "to_type": "int",
        "value_accuracy": "unknown",
    }
    text = _history(
        _version("1", [ID, column]),
        _version("2", [ID, column], image_changes=[change]),
    )
    assert "'s': [('2', none)]," in text


def test_a_column_that_only_rows_tell_shows_its_default_too() -> None:
    added = _column(2, "n", "connect.int32", original_default="7")
    change = {"column_id": 2, "kind": "added", "changes_text": True}
    text = _history(
        _version("1", [_column(1, "id", "connect.int64")], ddl_sql=None),
        _version(
            "2~@3",
            [_column(1, "id", "connect.int64"), added],
            image_changes=[change],
            ddl_sql=None,
        ),
    )
    assert "written_sequence <= '2~@3'" in text
    assert "{{ changefold.mysql_number('image.`n`', 'int') }}" in text


def test_times_of_kafka_connect_may_be_finer_than_a_microsecond() -> None:
    text = _history(
        _version(
            "1",
            [
                _column(1, "id", "connect.int64"),
                _column(4, "at", "connect.NanoTimestamp"),
                _column(5, "total", "connect.Decimal(12,2)"),
            ],
        )
    )
    assert "{{ changefold.mysql_number('image.`id`', 'bigint') }} as `id`" in text
    assert "{{ changefold.mysql_number('image.`total`', 'decimal(12, 2)') }}" in text
    assert "rounded=[\n            'at',\n        ]" in text


@pytest.mark.parametrize("base", sorted(mysql_types._KNOWN))
def test_each_type_of_mysql_has_a_row_in_the_seed(base: str) -> None:
    text = f"{base}('a')" if base in {"enum", "set"} else base
    assert SEED.column_type(parse_mysql_type(text)).spark_type


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("connect.Decimal(38,0)", "decimal(38, 0)"),
        ("connect.Decimal(39,0)", "string"),
        ("connect.Decimal(5,2046)", "string"),
        ("connect.Decimal(,2)", "string"),
        ("connect.array<connect.int32>", "string"),
        ("connect.boolean", "boolean"),
        ("connect.uint64", "decimal(20, 0)"),
    ],
)
def test_a_type_of_kafka_connect_is_kept_as_the_seed_says(text: str, kept: str) -> None:
    assert SEED.column_type(parse_type(text)).spark_type == kept


def test_a_renamed_column_is_read_under_its_old_name_before() -> None:
    change = {"column_id": 2, "kind": "renamed", "changes_text": True}
    text = _history(
        _version("1", [ID, _column(2, "note", "text")]),
        _version("2", [ID, _column(2, "remark", "text")], image_changes=[change]),
    )
    assert "'remark': [('', 'note'), ('2', 'remark')]" in text


def _again(since: str, columns: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return _version(since, columns, table_uid="shop.orders@5", **more)


def test_a_new_table_has_no_value_of_a_column_that_bore_a_name_before() -> None:
    renamed = [ID, _column(2, "remark", "int")]
    text = _history(
        _version("1", [ID, _column(2, "note", "int")]),
        _version("2", renamed),
        _version("4", renamed, is_dropped=True),
        _again("5", [ID, _column(2, "note", "int", original_default="7")]),
    )
    assert "'remark': [('', 'note'), ('2', 'remark')]" in text
    assert "when written_sequence > '4'\n                    then image.`note`" in text
    assert "{{ sql_text('7') }}" not in text


def test_a_name_is_read_as_it_was_in_each_table_that_had_it() -> None:
    first, second = _column(2, "note", "int"), _column(2, "text", "int")
    last = _column(2, "remark", "int")
    text = _history(
        _version("1", [ID, last]),
        _version("4", [ID, last], is_dropped=True),
        _again("5", [ID, second]),
        _again("6", [ID, last]),
        _again("7", [ID, last], is_dropped=True),
        _version("8", [ID, first], table_uid="shop.orders@8"),
        _version("9", [ID, last], table_uid="shop.orders@8"),
    )
    steps = (
        "('', 'remark'), ('4', 'text'), ('6', 'remark'), ('7', 'note'), ('9', 'remark')"
    )
    assert f"'remark': [{steps}]" in text


def test_a_value_is_read_by_the_type_that_its_table_gave_it() -> None:
    text = _history(
        _version("1", [ID, _column(2, "n", "int")]),
        _version("4", [ID, _column(2, "n", "int")], is_dropped=True),
        _again("5", [ID, _column(2, "n", "varbinary(9)")]),
    )
    assert "when held_at > '4'" in text


def test_a_dropped_column_stays_in_the_history_and_leaves_the_current_table() -> None:
    change = {"column_id": 2, "kind": "dropped", "changes_text": True}
    tables = TableModels(
        shape_from_versions(
            [
                _version("1", [ID, _column(2, "old", "int")]),
                _version("2", [ID], image_changes=[change]),
            ]
        ),
        SEED,
    )
    assert "held_at <= '2'" in tables.history()
    assert "`old`" not in tables.current()


def test_a_column_dropped_and_added_again_does_not_revive_its_values() -> None:
    text = _history(
        _version("1", [ID, _column(2, "n", "int")]),
        _version("2", [ID]),
        _version("3", [ID, _column(3, "n", "int")]),
    )
    assert "when held_at <= '2'" in text
    assert "when written_sequence > '3'" in text


def test_a_column_that_rows_bring_under_the_name_of_another_has_none_of_its_values() -> (
    None
):
    renamed = _version("2", [ID, _column(2, "m", "int"), _column(3, "o", "int")])
    dropped = _version("3", [ID, _column(2, "m", "int")])
    brought = [_column(4, "n", "int"), _column(5, "o", "int"), _column(6, "z", "int")]
    text = _history(
        _version("1", [ID, _column(2, "n", "int"), _column(3, "o", "int")]),
        renamed,
        dropped,
        _version("7~", [*dropped["columns"], *brought], ddl_sql=None),
    )
    assert "when written_sequence > '2'\n                    then image.`n`" in text
    assert "when written_sequence > '3'\n                    then image.`o`" in text
    assert "image.`z` as `z`" in text
    # It came with rows, and is no event for those before.
    assert "7~" not in text


def test_a_modified_column_keeps_the_type_that_holds_all_its_values() -> None:
    tables = TableModels(
        shape_from_versions(
            [
                _version("1", [ID, _column(2, "p", "decimal(12,2)")]),
                _version("2", [ID, _column(2, "p", "decimal(8,4)")]),
            ]
        ),
        SEED,
    )
    assert tables.types["p"] == "decimal(14, 4)"
    assert "cast(`p` as decimal(8, 4)) as `p`" in tables.current()


def test_a_virtual_column_that_no_row_names_is_left_out_and_named() -> None:
    virtual = _column(2, "v", "int", generated="virtual", is_in_rows=False)
    tables = TableModels(shape_from_versions([_version("1", [ID, virtual])]), SEED)
    assert "`v`" not in tables.history()
    assert "these virtual generated columns: v." in tables.history_yml()


@pytest.mark.parametrize(
    ("types", "common"),
    [
        (["int", "int"], "int"),
        (["int", "bigint"], "bigint"),
        (["bigint", "decimal(20, 0)"], "decimal(20, 0)"),
        (["decimal(12, 2)", "decimal(14, 4)"], "decimal(14, 4)"),
        (["decimal(38, 0)", "decimal(38, 10)"], "string"),
        (["float", "double"], "double"),
        (["int", "string"], "string"),
    ],
)
def test_a_common_type_holds_every_value(types: list[str], common: str) -> None:
    assert common_type(types) == common


@pytest.mark.parametrize(
    ("mysql_type", "spark_type"),
    [
        ("bigint unsigned", "decimal(20, 0)"),
        ("int unsigned", "bigint"),
        ("decimal(65,30)", "string"),
        ("decimal", "string"),
        ("enum", "string"),
        ("bit(64)", "decimal(20, 0)"),
        ("datetime", "timestamp_ntz"),
        ("timestamp", "timestamp"),
        ("varbinary", "binary"),
    ],
)
def test_a_type_without_its_parameters_loses_no_value(
    mysql_type: str, spark_type: str
) -> None:
    found = parse_mysql_type(mysql_type, declared=False)
    assert SEED.column_type(found).spark_type == spark_type


def _bare(table: str) -> TableShape:
    return _seen(table, [ID])


def _seen(
    table: str, columns: list[dict[str, Any]], database: str = "shop"
) -> TableShape:
    names = {"source_database": database, "source_table": table, "ddl_sql": None}
    return shape_from_versions([_version("", columns, **names)])


def test_a_column_that_rows_bring_without_a_ddl_is_read_from_each_row() -> None:
    first = _version("", [ID], ddl_sql=None)
    second = _version("1~", [ID, _column(2, "n", "int")], ddl_sql=None)
    third = _version("2~", [ID], ddl_sql=None)
    text = _history(first, second, third)
    assert " > '" not in text
    assert "as `n`" in text


def test_a_type_that_changes_without_a_ddl_holds_from_its_first_row_on() -> None:
    text = _history(
        _version("", [ID, _column(2, "n", "int")], ddl_sql=None),
        _version("1~", [ID, _column(2, "n", "enum('a')")], ddl_sql=None),
    )
    assert "when held_at > '1~'" in text


def test_a_plain_name_keeps_its_file_name() -> None:
    assert model_name(_bare("order_items")) == "shop__order_items"


def test_an_edited_file_is_left_alone_and_its_difference_shown(tmp_path: Path) -> None:
    write_models({"a.sql": "one\n"}, tmp_path / "models", check=False)
    (tmp_path / "models" / "a.sql").write_text("mine\n")
    outcome = write_models({"a.sql": "two\n"}, tmp_path / "models", check=False)
    assert (tmp_path / "models" / "a.sql").read_text() == "mine\n"
    assert "-mine" in outcome.edited["models/a.sql"]
    assert "+two" in outcome.edited["models/a.sql"]


def test_a_stale_file_is_written_and_a_check_writes_nothing(tmp_path: Path) -> None:
    write_models({"a.sql": "one\n"}, tmp_path / "models", check=False)
    assert write_models({"a.sql": "two\n"}, tmp_path / "models", check=True).written
    assert (tmp_path / "models" / "a.sql").read_text() == "one\n"
    assert write_models({"a.sql": "two\n"}, tmp_path / "models", check=False).written
    assert (tmp_path / "models" / "a.sql").read_text() == "two\n"


def test_a_file_whose_table_is_gone_goes_too(tmp_path: Path) -> None:
    write_models({"a.sql": "one\n"}, tmp_path / "models", check=False)
    assert write_models({}, tmp_path / "models", check=False).removed == []
    stale = write_models({}, tmp_path / "models", check=True, are_all=True)
    assert stale.removed == ["models/a.sql"]
    assert (tmp_path / "models" / "a.sql").exists()
    gone = write_models({}, tmp_path / "models", check=False, are_all=True)
    assert gone.removed == ["models/a.sql"]
    assert not (tmp_path / "models" / "a.sql").exists()


def test_an_edited_file_whose_table_is_gone_stays_and_is_told(tmp_path: Path) -> None:
    write_models({"a.sql": "one\n"}, tmp_path / "models", check=False)
    (tmp_path / "models" / "a.sql").write_text("mine\n")
    outcome = write_models({}, tmp_path / "models", check=False, are_all=True)
    assert outcome.orphaned == ["models/a.sql"]
    assert (tmp_path / "models" / "a.sql").read_text() == "mine\n"


def _life(uid: str, *steps: tuple[str, str]) -> list[dict[str, Any]]:
    """Versions of a table: (sequence, name) for each, "" for its DROP."""
    versions = []
    last = ""
    for since, name in steps:
        dropped = not name
        last = name or last
        versions.append(
            _version(since, [ID], table_uid=uid, source_table=last, is_dropped=dropped)
        )
    return versions


def _names(shape: TableShape) -> list[tuple[str, str | None, str | None]]:
    return [(name.table, name.since, name.until) for name in shape.names]


def test_a_renamed_table_keeps_its_history_under_the_new_name() -> None:
    (shape,) = shapes_from_versions(_life("1", ("1", "a"), ("5", "b")))
    assert shape.table == "b"
    assert _names(shape) == [("a", "1", "5"), ("b", "5", None)]
    assert [life.table_uid for life in shape.lives] == ["1"]


def test_two_tables_that_swap_their_names_swap_their_histories() -> None:
    versions = [
        *_life("1", ("1", "a"), ("5", "tmp"), ("5", "b")),
        *_life("2", ("2", "b"), ("5", "a")),
    ]
    first, second = shapes_from_versions(versions)
    assert (first.table, _names(first)) == ("b", [("a", "1", "5"), ("b", "5", None)])
    assert (second.table, _names(second)) == ("a", [("b", "2", "5"), ("a", "5", None)])


def test_a_table_created_anew_follows_the_one_that_was_dropped() -> None:
    (shape,) = shapes_from_versions(
        [*_life("1", ("1", "a"), ("3", "")), *_life("2", ("4", "a"))]
    )
    assert [life.table_uid for life in shape.lives] == ["1", "2"]


def test_a_dropped_table_that_overlaps_its_successor_gets_its_own_model() -> None:
    versions = [
        *_life("1", ("1", "a"), ("6", "b")),
        *_life("2", ("2", "b"), ("5", "")),
    ]
    past, present = sorted(
        shapes_from_versions(sorted(versions, key=_since)),
        key=lambda shape: shape.past_until is None,
    )
    assert (model_name(past), _names(past)) == ("shop__b__until_5", [("b", "2", "5")])
    assert (model_name(present), _names(present)) == (
        "shop__b",
        [("a", "1", "6"), ("b", "6", None)],
    )


def test_a_table_created_anew_with_another_key_gets_a_model_of_its_own() -> None:
    second = _life("2", ("4", "a"))
    second[0]["key_columns"] = ["code"]
    shapes = shapes_from_versions([*_life("1", ("1", "a"), ("3", "")), *second])
    assert sorted(model_name(shape) for shape in shapes) == [
        "shop__a",
        "shop__a__until_3",
    ]


def test_the_model_of_a_table_that_is_gone_has_a_name_that_every_catalog_takes() -> (
    None
):
    gone = "00000/m1795264090700/.00000.0000000000000000009/1795264090000"
    second = _life("2", ("~", "a"))
    second[0]["key_columns"] = ["code"]
    past, _ = sorted(
        shapes_from_versions([*_life("1", ("0", "a"), (gone, "")), *second]),
        key=lambda shape: shape.past_until is None,
    )
    assert model_name(past) == (
        "shop__a__until_00000_m1795264090700_00000_0000000000000000009_1795264090000"
    )


def _since(version: dict[str, Any]) -> str:
    since: str = version["valid_from_sequence"]
    return since


def test_dbt_finds_the_table_of_another_tool_where_it_is(tmp_path: Path) -> None:
    topics: list[dict[str, Any]] = [
        {"name": "t", "protocol": "ticdc_canal_json", "table": "landing.kafka_t"},
        {"name": "u", "protocol": "ticdc_canal_json", "table": "kafka_u"},
        {"name": "own", "protocol": "ticdc_canal_json", "files": ["messages"]},
    ]
    (text,) = render_sources(topics).values()
    (tmp_path / "models").mkdir()
    docs = re.findall(r"doc\(''?(\w+)''?\)", text)
    (tmp_path / "models" / "docs.md").write_text(
        "".join(f"{{% docs {name} %}}a{{% enddocs %}}\n" for name in sorted(set(docs)))
    )
    (tmp_path / "models" / "sources.yml").write_text(text)
    (tmp_path / "dbt_project.yml").write_text(
        "{name: other, profile: p, version: '1.0'}"
    )
    (tmp_path / "profiles.yml").write_text(
        "p: {target: t, outputs: {t: {type: sparksession, schema: cdc}}}"
    )
    folder = str(tmp_path)
    done = dbtRunner().invoke(
        ["parse", "--quiet", "--project-dir", folder, "--profiles-dir", folder]
    )
    assert isinstance(done.result, Manifest), done.exception
    assert {
        node.name: (node.schema, node.identifier)
        for node in done.result.sources.values()
    } == {
        "t": ("landing", "kafka_t"),
        "u": ("cdc", "kafka_u"),
        "own": ("cdc", "raw_own"),
    }


def test_a_table_that_only_a_ddl_named_gets_no_model() -> None:
    blank = _version("", [], ddl_sql=None)
    named = _version("2", [_column(1, "c", "int")])
    assert shapes_from_versions([blank, named]) == []
    filled = _version(
        "3~", [_column(1, "c", "int"), ID | {"column_id": 2}], ddl_sql=None
    )
    (shape,) = shapes_from_versions([blank, named, filled])
    assert list(shape.columns) == ["c", "id"]


def _views(*versions: dict[str, Any]) -> list[str]:
    return [
        TableModels(shape, SEED).history()
        for shape in shapes_from_versions([*versions])
    ]


def test_a_table_that_never_changed_is_casts_of_its_versions() -> None:
    (text,) = _views(_version("1", [ID]))
    assert "lives=[\n        {'table_uid': 'shop.orders@1'},\n    ]" in text
    assert "images as (\n\n    {{ changefold.versions_of_table(" in text
    assert "mysql_number('image.`id`', 'int') }} as `id`" in text
    assert "ddls=" not in text


def test_a_column_added_to_a_table_without_a_key_is_there_from_its_ddl_on() -> None:
    added = _column(2, "n", "int", original_default="7")
    change = {"column_id": 2, "kind": "added", "changes_text": True}
    (text,) = _views(
        _version("1", [ID], key_columns=[]),
        _version("2", [ID, added], key_columns=[], image_changes=[change]),
    )
    assert "when held_at > '2'" in text
    assert "has_key=false" in text


def test_a_converted_value_is_that_of_the_row_which_began_anew() -> None:
    change = {
        "column_id": 2,
        "kind": "retyped",
        "changes_text": True,
        "from_name": "n",
        "to_name": "n",
        "from_type": "decimal(5,2)",
        "to_type": "decimal(7,4)",
        "value_accuracy": "exact",
    }
    (text,) = _views(
        _version("1", [ID, _column(2, "n", "decimal(5,2)")]),
        _version("2", [ID, _column(2, "n", "decimal(7,4)")], image_changes=[change]),
    )
    assert "ddls=" not in text


def test_a_table_with_another_key_is_another_model() -> None:
    other = _column(2, "code", "int")
    before, after = sorted(
        _views(
            _version("1", [ID, other]),
            _version("5", [ID, other], key_columns=["code"], key_changed=True),
        ),
        key=lambda text: "'key_since'" in text,
    )
    assert "{'table_uid': 'shop.orders@1'}" in before
    assert "{'table_uid': 'shop.orders@1', 'key_since': '5'}" in after
