"""The var `topics`: each mistake has a sentence that names the var."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from changefold.declared_topics import DeclarationError, checked
from changefold_tools.generate.sources import (
    declared_topics,
    models_folder,
    render_sources,
)
from dbt.adapters.sparksession.java_rules import near_zone

PROJECT = Path("project")
TOPIC = {
    "name": "shop",
    "protocol": "ticdc_canal_json",
    "files": ["messages"],
    "partitions": 1,
}


def _checked(*topics: Any) -> list[dict[str, Any]]:
    return checked(PROJECT, list(topics), {"topics": list(topics)})


def _sentence(topics: Any, settings: dict[str, Any]) -> str:
    with pytest.raises(DeclarationError) as raised:
        checked(PROJECT, topics, settings)
    return str(raised.value)


def test_what_is_not_declared_has_its_default() -> None:
    (topic,) = _checked({**TOPIC, "files": "messages", "time_zone": None})
    assert topic == {
        **TOPIC,
        "kafka": "",
        "is_landed": True,
        "max_offsets_per_run": None,
        "time_zone": "UTC",
        "is_gapless": True,
        "is_compacted": False,
        "pending_holds_cut": True,
        "has_watermarks": True,
        "snapshots": {},
        "types": {},
        "keys": {},
        "placeholder": "",
        "names_ignore_case": True,
        "pattern": "",
        "databases": {},
        "filter": "",
    }


def test_a_compacted_topic_is_not_gapless_unless_that_is_asked_for() -> None:
    compacted = {**TOPIC, "protocol": "debezium", "is_compacted": True}
    assert _checked(compacted)[0]["is_gapless"] is False
    topics = [{**compacted, "is_gapless": True}]
    assert "without `is_gapless: true`" in _sentence(topics, {"topics": topics})


def test_a_project_may_declare_no_topic_yet() -> None:
    assert _checked() == []


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "var `topics` is missing: expected a list of topics under `vars` in "),
        ({"topic": [TOPIC]}, "there is a var `topic`. Did you mean `topics`?"),
        ({"Topics": [TOPIC]}, "there is a var `Topics`. Did you mean `topics`?"),
        ({"topics": None}, "var `topics` is empty: expected a list"),
        ({"changefold": {"topics": [TOPIC]}}, "`topics` stands under `changefold`"),
    ],
)
def test_missing_topics_are_told_with_the_place_where_they_belong(
    settings: dict[str, Any], sentence: str
) -> None:
    # Where the project has none, dbt finds those of the package's sample.
    for topics in (None, [TOPIC]):
        assert sentence in _sentence(topics, settings)


@pytest.mark.parametrize("topics", [{"shop": TOPIC}, "shop", 7, TOPIC])
def test_topics_that_are_no_list_are_told(topics: Any) -> None:
    said = _sentence(topics, {"topics": topics})
    assert said.startswith("var `topics`: expected a list of topics, got `")


@pytest.mark.parametrize("entry", ["shop", 7, None, ["shop"]])
def test_an_entry_that_is_no_mapping_is_told_by_its_number(entry: Any) -> None:
    said = _sentence([TOPIC, entry], {"topics": []})
    assert said.startswith("var `topics`: expected topic 2 to be a mapping")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": None}, "topic 1 has no `name`"),
        ({"name": 2024}, "expected `name` to be text, got `2024`"),
        ({"name": " "}, "expected `name` to be text"),
        ({"partition": 3}, "unknown key `partition`. Did you mean `partitions`?"),
        ({"timezone": "UTC"}, "unknown key `timezone`. Did you mean `time_zone`?"),
        ({"protokol": "x"}, "unknown key `protokol`. Did you mean `protocol`?"),
        ({7: "x"}, "unknown key `7`; known are name, protocol,"),
        ({"protocol": "debezum"}, "`protocol: debezum`. Did you mean `debezium`?"),
        ({"protocol": None}, "unknown `protocol: `; known are ticdc_canal_json,"),
        ({"protocol": 7}, "expected `protocol` to be text, got `7`"),
        ({"files": {"a": 1}}, "expected `files` to be a file, folder or glob"),
        ({"files": [7]}, "expected `files` to be a file, folder or glob"),
        ({"files": None}, "expected one of `files`"),
        ({"kafka": "main"}, "got files and kafka"),
        ({"files": None, "kafka": "main"}, "expected no `partitions` beside `kafka`"),
        ({"partitions": None}, "expected `partitions` to be the number of"),
        ({"partitions": 0}, "expected `partitions` to be the number of"),
        ({"partitions": True}, "expected `partitions` to be the number of"),
        ({"partitions": "3"}, "expected `partitions` to be the number of"),
        ({"max_offsets_per_run": 5}, "expected `max_offsets_per_run` beside `kafka`"),
        ({"max_offsets_per_run": 0}, "to be a number of messages, got `0`"),
        ({"time_zone": 600}, "or, in quotes, `'+10:00'`, got `600`"),
        ({"is_gapless": "no"}, "expected `is_gapless` to be true or false, got `no`"),
        ({"has_watermarks": False}, "`has_watermarks` of the protocol debezium"),
        ({"is_compacted": True}, "`is_compacted` of the protocol debezium only"),
        ({"databases": {"a": "b"}}, "`databases` of the protocol debezium only"),
        ({"databases": ["a"]}, "expected `databases` to be a mapping, got `['a']`"),
        ({"snapshots": ["db.t"]}, "expected `snapshots` to be a mapping"),
        ({"snapshots": {"db.t": "now"}}, "got `db.t: now`"),
        ({"snapshots": {"t": 7}}, "got `t: 7`"),
        (
            {"protocol": "debezium", "snapshots": {"db.t": 7}},
            "`all`, or to two times such as `'2026-11-01T10:00:00Z'`, in quotes, got `db.t: 7`",
        ),
        (
            {
                "protocol": "debezium",
                "snapshots": {"db.t": ["2026-11-01", "2026-11-02"]},
            },
            "got `db.t: ['2026-11-01', '2026-11-02']`",
        ),
        ({"types": {"t": {"c": "int"}}}, "expected `types` to map `database.table`"),
        ({"types": {"db.t": "int"}}, "expected `types` to map `database.table`"),
        ({"types": {"db.t": {"c": 7}}}, "expected `types` to map `database.table`"),
        ({"pattern": ["a"]}, "expected `pattern` to be the text of a regular"),
        ({"filter": 7}, "expected `filter` to be text, got `7`"),
    ],
)
def test_a_declaration_that_can_not_be_right_has_its_sentence(
    change: dict[Any, Any], sentence: str
) -> None:
    said = _sentence([{**TOPIC, **change}], {"topics": []})
    assert said.startswith("var `topics`: ")
    assert sentence in said


def test_a_name_that_is_declared_twice_is_told() -> None:
    topics = [TOPIC, {**TOPIC, "name": "other"}, TOPIC]
    assert "topic `shop` is declared twice" in _sentence(topics, {"topics": topics})


def test_two_topics_that_would_land_in_one_table_are_told() -> None:
    topics = [{**TOPIC, "name": name} for name in ("web.shop", "web_shop")]
    with pytest.raises(ValueError, match="would share the raw table `raw_web_shop`"):
        render_sources(topics)


def test_a_project_is_read_by_the_same_rule(tmp_path: Path) -> None:
    settings = tmp_path / "dbt_project.yml"
    settings.write_text("name: own\nvars:\n  topic: []\n")
    with pytest.raises(DeclarationError, match="Did you mean `topics`"):
        declared_topics(tmp_path)
    settings.write_text("name: own\nvars:\n")
    with pytest.raises(DeclarationError, match="var `topics` is missing"):
        declared_topics(tmp_path)
    assert models_folder(tmp_path) == tmp_path / "models"
    settings.write_text("name: own\nvars: [topics]\n")
    with pytest.raises(DeclarationError, match="expected `vars` to be a mapping"):
        declared_topics(tmp_path)
    settings.write_text("name: own\nvars: {\n")
    with pytest.raises(ValueError, match="can not be read as YAML"):
        declared_topics(tmp_path)
    settings.write_text("")
    with pytest.raises(ValueError, match="expected a mapping with the `name`"):
        declared_topics(tmp_path)
    settings.unlink()
    with pytest.raises(FileNotFoundError, match=r"is no dbt project: it has no dbt_pr"):
        declared_topics(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "zone"),
    [
        ("Asia/Shangai", "Asia/Shanghai"),
        ("asia/shanghai", "Asia/Shanghai"),
        ("Shanghai", "Asia/Shanghai"),
        ("Europe/Berln", "Europe/Berlin"),
        ("America/New York", "America/New_York"),
        ("utc ", "UTC"),
        ("the office", ""),
        ("+25:00", ""),
    ],
)
def test_a_zone_near_a_wrong_one_is_found_by_its_name_or_its_city(
    wrong: str, zone: str
) -> None:
    known = ["Asia/Shanghai", "Europe/Berlin", "America/New_York", "UTC", "Etc/UTC"]
    assert near_zone(wrong, known) == zone
