"""Two names of a source never become one, in a table or among the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from changefold.connect.column_types import TypeSeed
from changefold_tools.generate.column_names import (
    COPY_COLUMN,
    VERSION_COLUMNS,
    spark_names,
)
from changefold_tools.generate.models import render_models, write_models
from changefold_tools.generate.render import TableModels, model_name
from changefold_tools.generate.table_history import TableShape, shape_from_versions

PROJECT: Final = Path(__file__).parents[3]
SEED: Final = TypeSeed(PROJECT / "seeds")
NAMES: Final = st.sampled_from(
    [
        *(
            "id",
            "Id",
            "ID",
            "\u0131d",
            "a b",
            "a_x20b",
            "A_X20B",
            "1",
            "_1",
            "",
            "${env:A}",
        ),
        *("valid_from", "source_valid_from", "VALID_TO", "_cdc_copy", "image"),
        *("_cdc_conversion_failures.key", "_cdc_conversion_failures.value", "😀", "é"),
        "_cdc_unknown_columns.element",
    ]
)


def _version(since: str, columns: dict[str, int], **more: Any) -> dict[str, Any]:
    return {
        "kafka_topic": "topic",
        "source_database": "shop",
        "source_table": "orders",
        "table_uid": "shop.orders@1",
        "valid_from_sequence": since,
        "columns": [
            {
                "column_id": number,
                "name": name,
                "type": "int",
                "generated": None,
                "is_in_rows": True,
                "original_default": None,
                "original_default_accuracy": None,
                "comment": None,
            }
            for name, number in columns.items()
        ],
        "key_columns": [next(iter(columns))],
        "image_changes": [],
        "is_dropped": False,
        "key_changed": False,
        "unknown_columns": [],
        "partition_changes": [],
        "row_effect": "none",
        "ddl_sql": "",
        **more,
    }


def _shape(*versions: dict[str, Any]) -> TableShape:
    return shape_from_versions(list(versions))


def _lasting(*names: str) -> dict[str, str]:
    return spark_names((name, "", "~") for name in names)


@given(st.lists(NAMES | st.text(max_size=4), unique=True, max_size=12))
def test_names_of_columns_stay_apart_in_spark_and_in_its_files(
    names: list[str],
) -> None:
    found = _lasting(*names)
    assert found.keys() == set(names)
    ours = {*VERSION_COLUMNS, *COPY_COLUMN}
    assert len({name.upper().lower() for name in found.values()} | ours) == len(
        names
    ) + len(ours)
    # A table of these has other names for none of them.
    assert set(_lasting(*found.values()).values()) == set(found.values())


@given(st.lists(NAMES, unique=True, min_size=2, max_size=8))
def test_a_new_column_takes_no_name_from_one_that_is_there(names: list[str]) -> None:
    before = _lasting(*names[:-1])
    after = _lasting(*names)
    plain = {name for name in before if before[name] == name}
    assert plain <= {name for name in after if after[name] == name}


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("valid_from", "source_valid_from"),
        ("_cdc_op", "source_cdc_op"),
        ("Is_Current", "source_Is_Current"),
        ("op", "op"),
        ("image", "image"),
        ("a b", "a b"),
        ("a < b", "a < b"),
        ("", "column_e3b0c4"),
        ("<b>", "b_507ca5"),
        ("${env:A}", "env_A_373edf"),
    ],
)
def test_a_column_has_its_own_name_unless_it_is_one_of_ours(
    name: str, kept: str
) -> None:
    assert _lasting("id", name)[name] == kept


def test_two_columns_that_differ_by_case_are_read_by_their_names_at_the_source() -> (
    None
):
    shape = _shape(_version("1", {"id": 1, "Id": 2, "valid_from": 3}))
    assert list(shape.columns) == ["id", "Id_12156e", "source_valid_from"]
    tables = TableModels(shape, SEED)
    assert (
        "    source_names={\n"
        "        'Id_12156e': 'Id',\n"
        "        'source_valid_from': 'valid_from',\n"
        "    },\n"
    ) in tables.history()
    assert "image.`Id_12156e`" in tables.history()
    (model,) = yaml.safe_load(tables.history_yml())["models"]
    assert "Id, int at the source" in model["columns"][1]["description"]


def test_a_column_that_only_changed_its_case_is_read_under_both_names() -> None:
    change = {"column_id": 1, "kind": "renamed", "changes_text": True}
    shape = _shape(
        _version("1", {"Id": 1}), _version("2", {"id": 1}, image_changes=[change])
    )
    assert list(shape.columns) == ["id"]
    assert shape.columns["id"][0].names == [(None, "Id_12156e"), ("2", "id")]


def test_a_column_takes_the_name_of_one_that_is_gone() -> None:
    shape = _shape(
        _version("1", {"id": 1, "Note": 2}),
        _version("2", {"id": 1}),
        _version("3", {"id": 1, "note": 3}),
    )
    assert shape.live == ["id", "note"]
    assert len(shape.columns) == 3


def _table(table: str, topic: str = "topic", database: str = "shop") -> TableShape:
    names = {"kafka_topic": topic, "source_database": database, "source_table": table}
    return _shape(_version("1", {"id": 1}, **names))


def _paths(*shapes: TableShape) -> list[str]:
    files = render_models(list(shapes), SEED)
    return [path for path in files if "scd2_" in path and path.endswith(".sql")]


def test_tables_whose_names_look_alike_get_files_of_their_own() -> None:
    names = ["a b", "a_b", "a-b", "A_b", "A_B", "Ä", "ä", "", "a__b", "x" * 64]
    assert len({path.lower() for path in _paths(*map(_table, names))}) == len(names)


def test_tables_of_one_name_in_two_topics_get_files_of_their_own() -> None:
    assert len(_paths(_table("a"), _table("a", "other"), _table("a", "third"))) == 3


def test_a_table_that_is_called_like_the_file_of_another_gets_its_own() -> None:
    odd = _table("a b")
    forged = _table(model_name(odd).removeprefix("shop__"))
    assert model_name(odd) == model_name(forged)
    assert len(_paths(odd, forged)) == 2


@pytest.mark.parametrize("is_first", [True, False])
def test_a_new_table_takes_no_file_from_one_that_has_it(
    tmp_path: Path, is_first: bool
) -> None:
    old, new = _table("a", "m"), _table("a", "a" if is_first else "z")
    before = render_models([old], SEED, tmp_path)
    write_models(before, tmp_path, check=False)
    both = sorted([old, new], key=lambda shape: shape.topic)
    after = render_models(both, SEED, tmp_path)
    history = "history/shop/scd2_shop__a.sql"
    assert after[history] == before[history]
    write_models(after, tmp_path, check=False)
    # Nor does one that stays alone change its own.
    (path,) = (
        p for p in render_models([new], SEED, tmp_path) if "/scd2_" in p and "sql" in p
    )
    assert path != history
    assert render_models([new], SEED, tmp_path)[path] == after[path]
