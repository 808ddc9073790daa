"""What the pipeline does with messages that no recording has.

All topics go through the same three builds, as a build costs many seconds.
"""

from __future__ import annotations

import base64
import contextlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark

from changefold_tools.cli import main
from changefold_tools.session import DbtFailedError, run_dbt, spark_session
from changefold_tools.verify.run import scratch_project
from dbt.adapters.sparksession.java_rules import wrong_time_zone

if TYPE_CHECKING:
    from collections.abc import Iterator

Rows = list[dict[str, Any]]

CREATE: Final = "CREATE TABLE `t` (`id` INT PRIMARY KEY,`v` INT)"
GOOD: Final = change("INSERT", {"id": "1", "v": "5"}, 200)
BAD: Final[dict[str, dict[str, Any]]] = {
    "null_value": {"value": None},
    "not_utf8": {"value_base64": base64.b64encode(b'{"\xff":1}').decode()},
    "truncated_json": {"value": GOOD[: len(GOOD) // 2]},
    "not_json": {"value": "hello"},
    "unknown_event_type": {"value": GOOD.replace("INSERT", "UPSERT")},
    "missing_field": {"value": GOOD.replace('"mysqlType"', '"mysqltype"')},
    "unknown_mysql_type": {"value": GOOD.replace('"int"', '"integral"')},
    "duplicate_key": {"value": GOOD.replace('"v": "5"', '"v": "5", "v": "6"')},
    "out_of_range": {"value": GOOD.replace("200", "9" * 30)},
    "too_deep": {"value": "[" * 5000 + "]" * 5000},
}
"""Error class -> a message that has it."""


def records(values: list[str], partition: int = 0, first: int = 0) -> Rows:
    return [
        {"partition": partition, "offset": first + position, "value": value}
        for position, value in enumerate(values)
    ]


@dataclass
class Outcome:
    """What stood in the tables after the first and the second build."""

    cuts: list[dict[str, Any]]
    changes: list[dict[str, set[int]]]
    quarantined: Rows
    balance: dict[str, Any]
    raw_messages: int
    written_without_news: list[str]
    said_without_ddls: dict[str, str]
    refused: str


def _cuts(pipeline: Pipeline) -> dict[str, Any]:
    rows = pipeline.rows("select * from verify.resolved_cuts")
    return {row["kafka_topic"]: row for row in rows}


def _changes(pipeline: Pipeline) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for row in pipeline.rows("select kafka_topic, commit_ts from verify.changes"):
        found.setdefault(row["kafka_topic"], set()).add(row["commit_ts"])
    return found


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    one = [
        ddl(CREATE, 100),
        change("INSERT", {"id": "1", "v": "1"}, 150),
        watermark(200),
    ]
    holey = records(
        [
            ddl(CREATE, 100),
            watermark(150),
            change("INSERT", {"id": "1", "v": "1"}, 160),
            watermark(200),
        ]
    )
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(
            folder, {"boundary": 1, "silent": 2, "hole": 1, "twice": 1, "bad": 1}
        )
        waiting = change("INSERT", {"id": "2", "v": "1"}, 200)
        pipeline.land("1", "boundary", records([*one, waiting]))
        pipeline.land("1", "silent", records(one))
        pipeline.land("1", "hole", [*holey[:2], holey[3]])
        pipeline.land("1", "twice", records(one))
        pipeline.land("overlapping", "twice", records(one))
        pipeline.land(
            "1",
            "bad",
            [
                *records([ddl(CREATE, 100), GOOD]),
                *(
                    {"partition": 0, "offset": 2 + position, **record}
                    for position, record in enumerate(BAD.values())
                ),
                *records([watermark(300)], first=2 + len(BAD)),
            ],
        )
        pipeline.dbt("build", "--quiet")
        cuts, changes = [_cuts(pipeline)], [_changes(pipeline)]

        pipeline.land("2", "boundary", records([watermark(201)], first=4))
        pipeline.land("2", "silent", records([watermark(180)], partition=1))
        pipeline.land("2", "hole", [holey[2]])
        pipeline.land("again", "twice", records(one))
        # As if killed behind the log, twice: the rest must not count anything again.
        pipeline.dbt("run", "--quiet", "--select", "change_log")
        pipeline.dbt("run", "--quiet", "--select", "change_log")
        pipeline.dbt("build", "--quiet")
        cuts.append(_cuts(pipeline))
        changes.append(_changes(pipeline))

        results = pipeline.dbt("run", "--quiet")
        (balance,) = pipeline.rows(
            "select * from verify.balance where kafka_topic = 'bad'"
        )
        inserted = change("INSERT", {"id": "3", "v": "1"}, 205)
        pipeline.land("3", "boundary", records([inserted, watermark(300)], first=5))
        without_ddls = pipeline.dbt("run", "--quiet")
        changes.append(_changes(pipeline))
        raw_messages = len(pipeline.rows("select * from verify.raw_twice"))
        pipeline.land("anew", "twice", records([one[0], watermark(300)]))
        refused = io.StringIO()
        with pytest.raises(DbtFailedError), contextlib.redirect_stdout(refused):
            pipeline.dbt("run", "--select", "change_log")
        yield Outcome(
            cuts=cuts,
            changes=changes,
            quarantined=pipeline.rows(
                "select * from verify.quarantined_messages order by kafka_offset"
            ),
            balance=balance,
            raw_messages=raw_messages,
            written_without_news=[
                result.node.name
                for result in results
                if result.node.resource_type == "model"
                and not str(result.message).startswith("SKIP")
            ],
            said_without_ddls={
                result.node.name: str(result.message)
                for result in without_ddls
                if str(result.message).startswith("SKIP")
            },
            refused=" ".join(refused.getvalue().split()),
        )


def test_a_change_with_the_watermarks_own_timestamp_waits(outcome: Outcome) -> None:
    seen = [after["boundary"] for after in outcome.changes]
    assert seen == [{150}, {150, 200}, {150, 200, 205}]


def test_a_partition_that_has_sent_nothing_holds_the_cut(outcome: Outcome) -> None:
    assert [after["silent"]["cut_ts"] for after in outcome.cuts] == [None, 180]
    assert "silent" not in outcome.changes[0]


def test_a_watermark_behind_a_hole_does_not_count(outcome: Outcome) -> None:
    seen = [after["hole"] for after in outcome.cuts]
    assert [(row["cut_ts"], row["messages_behind_a_gap"]) for row in seen] == [
        (150, 2),
        (200, 0),
    ]
    assert outcome.changes[1]["hole"] == {160}


def test_a_message_that_lands_again_is_there_once(outcome: Outcome) -> None:
    assert outcome.raw_messages == 3


def test_another_message_at_a_known_offset_stops_the_run(outcome: Outcome) -> None:
    assert "twice_anew.ndjson has another message at partition 0, offset 1" in (
        outcome.refused
    )
    assert "declare the new one under another `name`" in outcome.refused


def test_a_build_without_new_messages_writes_nothing(outcome: Outcome) -> None:
    assert outcome.written_without_news == []


def test_tables_whose_rows_are_the_same_are_not_written(outcome: Outcome) -> None:
    said = outcome.said_without_ddls
    compared = ("table_schemas", "folded_tables", "table_ends")
    assert {said.get(name) for name in compared} == {"SKIP the same rows"}
    assert said["column_moments"] == said["row_moves"] == "SKIP nothing new"
    assert "row_versions" not in said


def test_bad_messages_are_quarantined_with_a_class_and_a_sentence(
    outcome: Outcome,
) -> None:
    assert [row["error_class"] for row in outcome.quarantined] == list(BAD)
    assert all(row["error_message"] for row in outcome.quarantined)


def test_a_quarantined_message_keeps_its_bytes(outcome: Outcome) -> None:
    kept = [row["value"] and bytes(row["value"]) for row in outcome.quarantined]
    sent = [
        base64.b64decode(record["value_base64"])
        if "value_base64" in record
        else record["value"] and record["value"].encode()
        for record in BAD.values()
    ]
    assert kept == sent


def test_the_balance_holds_with_bad_messages(outcome: Outcome) -> None:
    expected = {
        "messages_read": 3 + len(BAD),
        "events": 3 + len(BAD),
        "applied": 1,
        "duplicates": 0,
        "beyond_cut": 0,
        "quarantined": len(BAD),
        "control": 2,
    }
    assert {name: outcome.balance[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("topic", "sentence"),
    [
        ({"protocol": "kafka_streams"}, "unknown `protocol: kafka_streams`"),
        ({"partitions": 0}, "expected `partitions` to be the number of partitions"),
        ({"colour": "red"}, "unknown key `colour`"),
        ({"files": []}, "expected one of `files`"),
        ({"types": {"db.t": {"c": 7}}}, "expected `types` to map `database.table`"),
        (
            {"has_watermarks": False},
            "expected `has_watermarks` of the protocol debezium",
        ),
        (
            {"is_compacted": True},
            "expected `is_compacted` of the protocol debezium only",
        ),
        (
            {"protocol": "debezium", "keys": {"db.dbo.t": "id"}},
            "expected `keys` to map `database.table`",
        ),
        ({"placeholder": "x"}, "expected `placeholder` of the protocol debezium only"),
    ],
)
def test_a_wrong_declaration_stops_dbt_with_the_var_in_the_sentence(
    capfd: pytest.CaptureFixture[str], topic: dict[str, Any], sentence: str
) -> None:
    with scratch_project(PROJECT, "interpreted") as folder:
        Pipeline(folder, {"topic": 1})
        declared = {
            "name": "topic",
            "protocol": "ticdc_canal_json",
            "files": ["messages"],
            "partitions": 1,
            **topic,
        }
        with pytest.raises(DbtFailedError):
            run_dbt(["parse", "--vars", str({"topics": [declared]})], folder)
    printed = " ".join(capfd.readouterr().out.split())
    assert sentence in printed
    assert "var `topics`" in printed


def test_topics_under_a_name_like_theirs_stop_dbt_with_a_question(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with scratch_project(PROJECT, "interpreted") as folder:
        path = folder / "dbt_project.yml"
        settings = yaml.safe_load(path.read_text())
        settings["vars"]["topic"] = settings["vars"].pop("topics")
        path.write_text(yaml.safe_dump(settings))
        with pytest.raises(DbtFailedError):
            run_dbt(["parse"], folder)
    printed = " ".join(capfd.readouterr().out.split())
    assert "there is a var `topic`. Did you mean `topics`?" in printed


def test_a_wrong_zone_or_pattern_stops_the_run_before_anything_lands(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(folder, {"topic": 1})
        pipeline.land("1", "topic", records([watermark(200)]))
        for settings, sentence in (
            ({"pattern": "shop("}, "`pattern`: `shop(` is no regular expression"),
            ({"time_zone": "+25:00"}, "`time_zone`: Spark knows no zone `+25:00`"),
            ({"time_zone": "Asia/Shangai"}, "Did you mean `Asia/Shanghai`?"),
        ):
            pipeline.declare("topic", **{"pattern": "topic", **settings})
            with pytest.raises(DbtFailedError):
                pipeline.dbt("run")
            printed = " ".join(capfd.readouterr().out.split())
            assert "var `topics`: topic `topic`: `" in printed
            assert sentence in printed
        assert pipeline.rows("show tables in verify") == []
        assert main(["--project-dir", str(folder), "summary"]) == 2
        assert "The schema `verify` has no summary yet" in capfd.readouterr().err
        # As Spark judges them, an offset is a zone.
        zones = ("+08:00", "-3:30", "GMT+2", "America/New_York")
        assert [wrong_time_zone(spark_session(), zone) for zone in zones] == [""] * 4


def test_missing_files_too_few_partitions_and_an_unknown_type_stop_the_run(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(folder, {"topic": 1})
        pipeline.land("1", "topic", records([watermark(200)], partition=1))
        with pytest.raises(DbtFailedError):
            pipeline.dbt("run")
        assert "declared with `partitions: 1`" in " ".join(
            capfd.readouterr().out.split()
        )
        pipeline.declare("topic", partitions=2, types={"db.t": {"c": "enmu('a')"}})
        with pytest.raises(DbtFailedError):
            pipeline.dbt("run")
        printed = " ".join(capfd.readouterr().out.split())
        assert "expected `types` of `db.t` to be MySQL types" in printed
        (folder / "messages" / "topic_1.ndjson").unlink()
        (folder / "messages").rmdir()
        with pytest.raises(DbtFailedError):
            pipeline.dbt("run")
        assert "no such file or folder" in " ".join(capfd.readouterr().out.split())
