"""Texts of a topic stay texts, whatever they are, in every file and on the screen."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import jinja2
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row
from rich.console import Console

from changefold.connect.column_types import TypeSeed
from changefold.spark_text import sql_text
from changefold_tools import summary
from changefold_tools.generate.escaping import (
    comment_line,
    jinja_text,
    shown,
    sql_name,
    yml_text,
)
from changefold_tools.generate.models import render_models
from changefold_tools.generate.table_history import TableShape, shape_from_versions
from changefold_tools.session import run_dbt
from changefold_tools.verify.run import declare_topics, scratch_project

PROJECT: Final = Path(__file__).parents[3]
SEED: Final = TypeSeed(PROJECT / "seeds")

HOSTILE: Final = [
    'it\'s "quoted"',
    "back`tick``s",
    "a b",
    "a.b",
    "a; drop table t; --",
    "/* a */",
    "{{ env_var('HOSTILE_MARK') }}",
    "{% do run_query('drop table t') %}",
    "{% endraw %}{{ 1 / 0 }}{% raw %}",
    "{# a comment",
    "#} }} %}",
    "env_var('HOSTILE_MARK')",
    "${env:HOSTILE_MARK}",
    "a\nb: [c",
    "a\r\nb",
    "\x00\x07\x1b[31m\x7f\x85\u2028",
    "\u202eright to left\u202c",
    "zero\u200bwidth\ufeff",
    "שלום",
    "Ünï 😀 \U000e0001",
    "select",
    "null",
    "1",
    "0x1f",
    "x" * 64,
    "back\\slash\\",
    "\\x41",
    "<img src=x onerror=alert(1)>[a](javascript:alert(1))",
]
TEXTS: Final = st.text(max_size=30) | st.lists(
    st.sampled_from([*HOSTILE, "{", "}", "%", "#", "'", "\\", "$", "{{ '", "' }}"])
).map("".join)


def _column(column_id: int, name: str, kind: str, text: str) -> dict[str, Any]:
    return {
        "column_id": column_id,
        "name": name,
        "type": kind,
        "generated": None,
        "is_in_rows": True,
        "original_default": text,
        "original_default_accuracy": None,
        "comment": text,
    }


def _shape(text: str) -> TableShape:
    """Return a table in which every text of a topic is `text`."""
    quoted = "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    version = {
        "kafka_topic": text,
        "source_database": text,
        "source_table": text,
        "table_uid": "1",
        "valid_from_sequence": "00470617752138940417",
        "columns": [_column(1, text, "varchar(64)", text)],
        "key_columns": [text],
        "image_changes": [],
        "is_dropped": False,
        "key_changed": False,
        "unknown_columns": [],
        "partition_changes": [],
        "row_effect": "none",
        "ddl_sql": text,
    }
    later = {
        **version,
        "valid_from_sequence": "00470617752138940418",
        "columns": [
            _column(1, text, "varchar(64)", text),
            _column(2, "other", "int", text),
            _column(3, "member", f"enum({quoted},'b')", text),
        ],
        "image_changes": [
            {"column_id": number, "kind": "added", "changes_text": True}
            for number in (2, 3)
        ],
    }
    return shape_from_versions([version, later])


def _rendered(template: str, **context: Any) -> str:
    # dbt escapes nothing either, and has `do`.
    environment = jinja2.Environment(extensions=["jinja2.ext.do"])  # noqa: S701
    return environment.from_string(template).render(context)


@given(TEXTS)
def test_a_text_comes_out_of_jinja_as_it_went_in(text: str) -> None:
    literal = jinja_text(text)
    assert literal.isprintable()
    assert not re.search(r"[{}]|<[A-Za-z/!?]", literal)
    assert _rendered("{{ " + literal + " }}") == text


@given(TEXTS)
def test_a_text_comes_out_of_yml_as_it_went_in(text: str) -> None:
    dumped = yaml.safe_dump({"a": yml_text(text)}, allow_unicode=True, width=88)
    assert dumped.replace("\n", "").isprintable()
    assert _rendered(yaml.safe_load(dumped)["a"]) == text


@given(TEXTS)
def test_a_name_comes_out_of_sql_as_it_went_in(text: str) -> None:
    def quoted(name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    assert sql_name(text).isprintable()
    changefold = SimpleNamespace(quoted=quoted)
    assert _rendered(sql_name(text), changefold=changefold) == quoted(text)


@given(TEXTS)
def test_what_a_screen_or_a_comment_shows_has_no_power_over_it(text: str) -> None:
    assert shown(text).isprintable()
    assert comment_line(text).isprintable()
    assert not re.search(r"[{}%#\n]", comment_line(text))


@given(TEXTS)
def test_the_macro_and_the_function_write_the_same_literal(text: str) -> None:
    macros = (
        PROJECT / "adapter/dbt/include/sparksession/macros/adapters.sql"
    ).read_text()
    (macro,) = re.findall(r"{% macro sql_text.*?endmacro %}", macros, re.S)
    literal = sql_text(text)
    assert _rendered(macro + "{{ sql_text(text) }}", text=text) == literal
    assert "${" not in literal
    assert re.sub(r"\\(.)", r"\1", literal[1:-1], flags=re.S) == text


@pytest.mark.parametrize("text", HOSTILE)
def test_generated_files_show_nothing_but_what_is_there(text: str) -> None:
    for path, file in render_models([_shape(text)], SEED).items():
        assert path.isascii()
        assert file.replace("\n", "").isprintable()


@pytest.mark.parametrize("text", [*HOSTILE, "[red]a[/red] [link=x]"])
def test_the_summary_shows_a_table_by_its_name(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Row(
        source_database="db", source_table=text, current_rows=1, versions=1, failures=0
    )
    message = Row(error_class="bad", messages=1, example=text)
    disagreement = Row(
        source_database="db",
        source_table=text,
        kind="before_differs",
        changes=1,
        first_row_key=text,
    )
    answers = iter([[], [], [table], [message], [disagreement]])
    monkeypatch.setattr(summary, "run_dbt", lambda *_: None)
    monkeypatch.setattr(summary, "spark_session", lambda: None)
    monkeypatch.setattr(summary, "_has_table", lambda *_: True)
    monkeypatch.setattr(summary, "_rows", lambda *_: next(answers))
    printed = StringIO()
    console = Console(file=printed, width=300, force_terminal=True, color_system=None)
    summary.print_summary(PROJECT, "cdc", console)
    lines = printed.getvalue().split("\n")
    assert all(re.sub(r"\x1b\[[0-9]*m", "", line).isprintable() for line in lines)
    assert sum(shown(text) in line for line in lines) == 3


def test_dbt_reads_every_text_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTILE_MARK", "a value that leaked")
    with scratch_project(PROJECT) as folder:
        topic = {"name": "t", "protocol": "ticdc_canal_json", "partitions": 1}
        declare_topics(folder, [{**topic, "files": ["messages"]}])
        for path, file in render_models([_shape(t) for t in HOSTILE], SEED).items():
            target = folder / "models" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file, encoding="utf-8")
        run_dbt(["--quiet", "parse", "--no-partial-parse"], folder)
        manifest = (folder / "target" / "manifest.json").read_text(encoding="utf-8")
    assert "a value that leaked" not in manifest
    models = {
        node["config"]["source_table"]: node
        for node in json.loads(manifest)["nodes"].values()
        if node["resource_type"] == "model" and node["name"].startswith("scd2_")
    }
    assert models.keys() == set(HOSTILE)
    # A search in dbt's docs shows these as HTML.
    for model in models.values():
        texts = [model["description"], model["raw_code"], *model["columns"]]
        texts += [column["description"] for column in model["columns"].values()]
        assert not [text for text in texts if re.search("<[A-Za-z/!?]", text)]
    for text, model in models.items():
        assert model["config"]["source_database"] == text
        name = next(iter(model["columns"]))
        assert model["config"].get("source_names", {}).get(name, name) == text
        for shown_text in (model["description"], model["columns"][name]["description"]):
            assert text.replace("<", "&lt;").replace("[", "&#91;") in shown_text


def test_what_held_before_a_ddl_and_behind_it_stays_as_it_is() -> None:
    macros = (PROJECT / "macros/typed/versions_of_table.sql").read_text()
    (macro,) = re.findall(r"{% macro by_moment.*?endmacro %}", macros, re.S)

    def by_moment(*steps: tuple[str, str]) -> str:
        call = macro + "{{ by_moment('at', steps) }}"
        return _rendered(call, steps=steps, **{"return": str})

    assert by_moment(("", "'a else b'")) == "'a else b'"
    assert by_moment(("", "'a'"), ("2", "'b'"), ("5", "'c'")) == (
        "case when at > '5' then 'c' when at > '2' then 'b' else 'a' end"
    )
