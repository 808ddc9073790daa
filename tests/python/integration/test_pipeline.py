"""What the pipeline does with messages that no recording has."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Pipeline
from messages import change, ddl, watermark

from changefold_tools.session import DbtFailedError

CREATE = "CREATE TABLE `t` (`id` INT PRIMARY KEY,`v` INT)"
MakePipeline = Callable[..., Pipeline]
BALANCE = (
    "select sum(messages_read) as messages_read, sum(events) as events, "
    "sum(applied) as applied, sum(duplicates) as duplicates, "
    "sum(beyond_cut) as beyond_cut, sum(quarantined) as quarantined, "
    "sum(control) as control from verify.balance"
)


def records(
    values: list[str], partition: int = 0, first: int = 0
) -> list[dict[str, Any]]:
    return [
        {"partition": partition, "offset": first + position, "value": value}
        for position, value in enumerate(values)
    ]


def test_bad_messages_are_quarantined_with_a_sentence_and_stop_nobody(
    make_pipeline: MakePipeline,
) -> None:
    pipeline = make_pipeline()
    good = change("INSERT", {"id": "1", "v": "5"}, 200)
    bad: dict[str, dict[str, Any]] = {
        "null_value": {"value": None},
        "not_utf8": {"value_base64": base64.b64encode(b'{"\xff":1}').decode()},
        "truncated_json": {"value": good[: len(good) // 2]},
        "not_json": {"value": "hello"},
        "unknown_event_type": {"value": good.replace("INSERT", "UPSERT")},
        "missing_field": {"value": good.replace('"mysqlType"', '"mysqltype"')},
        "unknown_mysql_type": {"value": good.replace('"int"', '"integral"')},
        "duplicate_key": {"value": good.replace('"v": "5"', '"v": "5", "v": "6"')},
        "out_of_range": {"value": good.replace("200", "9" * 30)},
        "too_deep": {"value": "[" * 5000 + "]" * 5000},
    }
    lines = [
        {"partition": 0, "offset": 0, "value": ddl(CREATE, 100)},
        {"partition": 0, "offset": 1, "value": good},
        *(
            {"partition": 0, "offset": 2 + position, **record}
            for position, record in enumerate(bad.values())
        ),
        {"partition": 0, "offset": 2 + len(bad), "value": watermark(300)},
    ]
    pipeline.land("messages.ndjson", lines)
    pipeline.dbt("build", "--quiet")
    found = pipeline.rows(
        "select * from verify.quarantined_messages order by kafka_offset"
    )
    assert [row["error_class"] for row in found] == list(bad)
    assert all(row["error_message"] for row in found)
    sent = [record.get("value") for record in bad.values()]
    assert [
        row["value"] and bytes(row["value"])
        for row in found
        if row["kafka_offset"] != 3
    ] == [
        value and value.encode() for position, value in enumerate(sent) if position != 1
    ]
    assert pipeline.rows(BALANCE) == [
        {
            "messages_read": 3 + len(bad),
            "events": 3 + len(bad),
            "applied": 1,
            "duplicates": 0,
            "beyond_cut": 0,
            "quarantined": len(bad),
            "control": 2,
        }
    ]


def test_a_change_with_the_watermarks_own_timestamp_waits(
    make_pipeline: MakePipeline,
) -> None:
    pipeline = make_pipeline()
    pipeline.land(
        "first.ndjson",
        records(
            [
                ddl(CREATE, 100),
                change("INSERT", {"id": "1", "v": "1"}, 199),
                watermark(200),
                change("INSERT", {"id": "2", "v": "1"}, 200),
            ]
        ),
    )
    pipeline.dbt("build", "--quiet")
    assert [
        row["commit_ts"] for row in pipeline.rows("select * from verify.changes")
    ] == [199]
    pipeline.land("second.ndjson", records([watermark(201)], first=4))
    pipeline.dbt("build", "--quiet")
    applied = pipeline.rows("select commit_ts from verify.changes order by commit_ts")
    assert [row["commit_ts"] for row in applied] == [199, 200]


def test_a_partition_that_has_sent_nothing_holds_the_cut(
    make_pipeline: MakePipeline,
) -> None:
    pipeline = make_pipeline(partitions=2)
    values = [
        ddl(CREATE, 100),
        change("INSERT", {"id": "1", "v": "1"}, 150),
        watermark(200),
    ]
    pipeline.land("first.ndjson", records(values))
    pipeline.dbt("build", "--quiet")
    assert pipeline.rows("select cut_ts from verify.resolved_cuts") == [
        {"cut_ts": None}
    ]
    pipeline.land("second.ndjson", records([watermark(180)], partition=1))
    pipeline.dbt("build", "--quiet")
    assert pipeline.rows("select cut_ts from verify.resolved_cuts") == [{"cut_ts": 180}]


def test_a_watermark_behind_a_hole_does_not_count(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline()
    values = [
        ddl(CREATE, 100),
        watermark(150),
        change("INSERT", {"id": "1", "v": "1"}, 160),
        watermark(200),
    ]
    lines = records(values)
    pipeline.land("first.ndjson", [*lines[:2], lines[3]])
    pipeline.dbt("build", "--quiet")
    assert pipeline.rows(
        "select cut_ts, messages_behind_a_gap from verify.resolved_cuts"
    ) == [{"cut_ts": 150, "messages_behind_a_gap": 2}]
    pipeline.land("second.ndjson", [lines[2]])
    pipeline.dbt("build", "--quiet")
    assert pipeline.rows(
        "select cut_ts, messages_behind_a_gap from verify.resolved_cuts"
    ) == [{"cut_ts": 200, "messages_behind_a_gap": 0}]
    assert len(pipeline.rows("select * from verify.changes")) == 1


def test_a_build_without_new_messages_writes_nothing(
    make_pipeline: MakePipeline,
) -> None:
    pipeline = make_pipeline()
    values = [
        ddl(CREATE, 100),
        change("INSERT", {"id": "1", "v": "1"}, 150),
        watermark(200),
    ]
    pipeline.land("first.ndjson", records(values))
    pipeline.dbt("build", "--quiet")
    results = pipeline.dbt("run", "--quiet")
    written = [
        result.node.name
        for result in results
        if result.node.resource_type == "model"
        and not str(result.message).startswith("SKIP")
    ]
    assert written == []


def test_a_message_that_lands_twice_counts_once(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline()
    values = [
        ddl(CREATE, 100),
        change("INSERT", {"id": "1", "v": "1"}, 150),
        watermark(200),
    ]
    pipeline.land("first.ndjson", records(values))
    pipeline.land("overlapping.ndjson", records(values))
    pipeline.dbt("build", "--quiet")
    pipeline.land("again.ndjson", records(values))
    pipeline.dbt("build", "--quiet")
    assert pipeline.rows("select count(*) as messages from verify.raw_0") == [
        {"messages": 3}
    ]


@pytest.mark.parametrize(
    ("topic", "sentence"),
    [
        ({"protocol": "kafka_streams"}, "unknown `protocol: kafka_streams`"),
        ({"files": ["nowhere.ndjson"]}, "there is no such file or folder"),
        ({"partitions": 0}, "expected `partitions` to be the number of partitions"),
        ({"colour": "red"}, "unknown key `colour`"),
    ],
)
def test_a_wrong_declaration_stops_the_run_with_the_var_in_the_sentence(
    make_pipeline: MakePipeline,
    capfd: pytest.CaptureFixture[str],
    topic: dict[str, Any],
    sentence: str,
) -> None:
    pipeline = make_pipeline(**{"partitions": 1, **topic})
    with pytest.raises(DbtFailedError):
        pipeline.dbt("run", "--quiet")
    printed = capfd.readouterr()
    assert sentence in printed.out + printed.err
    assert "var `topics`" in printed.out + printed.err


def test_a_partition_beyond_the_declared_number_stops_the_run(
    make_pipeline: MakePipeline, capfd: pytest.CaptureFixture[str]
) -> None:
    pipeline = make_pipeline(partitions=1)
    pipeline.land("first.ndjson", records([watermark(200)], partition=1))
    with pytest.raises(DbtFailedError):
        pipeline.dbt("run", "--quiet")
    printed = capfd.readouterr()
    assert "declared with `partitions: 1`" in printed.out + printed.err
