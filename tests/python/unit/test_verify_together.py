"""Recordings that are built as topics of one project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from changefold_tools.verify.run import (
    Recording,
    _declared_as,
    _topic_name,
    recordings_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

CASES: Final = Path(__file__).parents[2] / "cases"


def recording(folder: Path, topics: Iterable[str], variant: str) -> Recording:
    folder.mkdir(parents=True, exist_ok=True)
    records = [
        {"topic": topic, "partition": 0, "offset": offset, "value": "{}"}
        for offset, topic in enumerate(topics)
    ]
    lines = [json.dumps(record) for record in records]
    (folder / f"{variant}.ndjson").write_text("\n".join(lines))
    (folder / "expected_final.ndjson").write_text("")
    return Recording(folder, variant)


def test_a_recording_is_one_topic_with_the_name_of_its_folder(tmp_path: Path) -> None:
    one = recording(tmp_path / "one", ["shop", "shop"], "canal_json")
    two = [
        recording(tmp_path / "two", ["shop"], variant)
        for variant in ("canal_json", "simple_json")
    ]
    every = recordings_in(tmp_path)
    assert every == [one, *two]
    names = [_topic_name(each, every) for each in every]
    assert names == ["one", "two_canal_json", "two_simple_json"]
    lines = one.lines()
    declared = _declared_as("one", one, lines)
    assert (declared["name"], declared["partitions"]) == ("one", 1)
    assert [json.loads(line)["topic"] for line in lines] == ["one", "one"]


def test_settings_beside_the_messages_are_declared_with_the_topic(
    tmp_path: Path,
) -> None:
    one = recording(tmp_path / "one", ["shop"], "canal_json")
    (tmp_path / "one" / "topic.json").write_text('{"time_zone": "Asia/Tokyo"}')
    assert _declared_as("one", one, one.lines())["time_zone"] == "Asia/Tokyo"


def test_a_recording_of_several_topics_is_left_to_itself(tmp_path: Path) -> None:
    one = recording(tmp_path / "one", ["shop", "stock"], "canal_json")
    with pytest.raises(ValueError, match="has several topics: verify it by itself"):
        _declared_as("one", one, one.lines())
    told = [{"name": "all", "pattern": ".*", "protocol": "ticdc_canal_json"}]
    (tmp_path / "one" / "topics.json").write_text(json.dumps(told))
    assert _declared_as("one", one, one.lines()) == told[0] | {"name": "one"}


def test_a_message_that_is_no_json_declares_nothing() -> None:
    each = next(one for one in recordings_in(CASES) if one.protocol == "debezium")
    lines = each.lines()
    broken = [json.dumps(json.loads(lines[0]) | {"value": "{broken"}), *lines]
    assert _declared_as("x", each, broken) == _declared_as("x", each, lines)
    assert json.loads(broken[0])["value"] == "{broken"
