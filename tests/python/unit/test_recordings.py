"""A recording tells its protocol by its name, and how its topics are declared."""

import json
import re
from pathlib import Path

import pytest
from debezium_corpus import SQL_SERVER, Corpus, Row, field

from changefold_tools.verify.run import Recording, declared_by, recordings_in

SOURCE = SQL_SERVER | {
    "table": "orders",
    "snapshot": "true",
    "commit_lsn": "00000027:00000758:0005",
}


@pytest.mark.parametrize(
    ("variant", "protocol"),
    [
        ("canal_json_tidb", "ticdc_canal_json"),
        ("simple_json", "ticdc_simple"),
        ("simple_avro", "ticdc_simple_avro"),
        ("debezium_ticdc", "debezium"),
        ("messages.schemas_true", "debezium"),
        ("messages.schemas_false", "debezium"),
        ("messages.schemas_false.decimal_format_numeric", "debezium"),
        ("messages", "canal_json"),
    ],
)
def test_the_name_of_a_recording_tells_its_protocol(
    variant: str, protocol: str
) -> None:
    assert Recording(Path(), variant).protocol == protocol


def test_all_recordings_with_a_truth_are_found_below_a_folder(tmp_path: Path) -> None:
    for name in (
        "shop/canal_json.ndjson.gz",
        "shop/simple_avro.ndjson",
        "shop/expected_final.ndjson",
        "shop/schema_final.ndjson",
        "types/debezium/messages.schemas_true.ndjson",
        "types/debezium/expected_final.ndjson.gz",
        "published/messages.ndjson",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert recordings_in(tmp_path) == [
        Recording(tmp_path / "shop", "canal_json"),
        Recording(tmp_path / "shop", "simple_avro"),
        Recording(tmp_path / "types/debezium", "messages.schemas_true"),
    ]
    with pytest.raises(FileNotFoundError, match="There is no recording in"):
        recordings_in(tmp_path / "published")


def test_the_topics_of_a_connector_are_declared_as_one(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path / "shop")
    corpus.add(SOURCE, "r", {"id": field("int32")}, key={"id": 1}, after={"id": 1})
    recording = Recording(corpus.folder, "messages.schemas_true")
    lines = recording.lines()
    for topic in ("s1.orders_2", "s1", "__debezium-heartbeat.s1"):
        record: Row = {"topic": topic, "partition": 2, "key": None, "value": None}
        lines.append(json.dumps(record))
    (declared,) = declared_by(recording, lines)
    pattern = declared.pop("pattern")
    assert declared == {
        "name": "s1",
        "protocol": "debezium",
        "partitions": 3,
    }
    for topic in ("s1", "s1.orders", "s1.orders_2", "__debezium-heartbeat.s1"):
        assert re.fullmatch(pattern, topic)
    assert not re.fullmatch(pattern, "s1xorders")
    assert "\\" not in pattern


def test_types_are_declared_where_messages_have_no_schemas(tmp_path: Path) -> None:
    decimal = {"scale": "2", "connect.decimal.precision": "9"}
    price = field("bytes", "org.apache.kafka.connect.data.Decimal", **decimal)
    with_schemas = Corpus(tmp_path / "shop")
    for fields in (
        {"id": field("int32"), "old": field("string")},
        {"id": field("int64"), "price": price},
    ):
        row = dict.fromkeys(fields, None) | {"id": 1}
        with_schemas.add(SOURCE, "r", fields, key={"id": 1}, after=row)
    bare = Corpus(tmp_path / "shop_replay", "messages.schemas_false")
    source = SOURCE | {"db": "testDB2"}
    bare.add(source, "r", {"id": field("int64")}, key={"id": 1}, after={"id": 1})
    recording = Recording(bare.folder, "messages.schemas_false")
    (declared,) = declared_by(recording, recording.lines())
    assert declared["types"] == {
        "testDB2.dbo.orders": {
            "id": "connect.int64",
            "old": "connect.string",
            "price": "connect.Decimal(9,2)",
        }
    }
