"""Messages land from a real Kafka, each once, and what is wrong with it is said."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml
from conftest import PROJECT, Pipeline
from histories import seeded
from kills import Killer
from messages import change, ddl, watermark
from rich.console import Console

from changefold_tools.devtools.demo_kafka import as_sent
from changefold_tools.devtools.kafka_broker import USER, Broker
from changefold_tools.generate.models import update_models
from changefold_tools.session import DbtFailedError
from changefold_tools.verify.run import Recording, scratch_project, verify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STEPS: Final = 2
SHOP: Final = Recording(PROJECT / "tests/golden/ticdc/shop", "canal_json_tidb")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with (
        Broker(tmp_path_factory.mktemp("kafka")) as running,
        pytest.MonkeyPatch.context() as env,
    ):
        env.setenv("KAFKA_BOOTSTRAP_SERVERS", running.servers)
        env.setenv("DBT_ENV_SECRET_KAFKA_PASSWORD", running.password)
        yield running


@dataclass
class Topics:
    """Carries a recording in topics of Kafka, all at once; builds take it in steps."""

    broker: Broker
    max_offsets: int = 0

    def declare(self, topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
        declared = []
        for topic in topics:
            self.broker.create_topic(topic["name"], topic.pop("partitions"))
            at_most = {"max_offsets_per_run": self.max_offsets}
            declared.append(topic | {"kafka": "main"} | at_most)
        return declared

    def send(self, lines: list[str], run: int) -> None:
        if run == 0:
            self.broker.send(map(as_sent, SHOP.lines()))
        assert lines


@dataclass
class Accidents:
    """Before each run something happens: two of them are killed, Kafka is restarted."""

    broker: Broker
    killer: Killer
    runs: int = 0

    def __call__(self, project: Path) -> None:
        self.runs += 1
        if self.runs == 2:
            self.broker.stop()
            self.broker.start()
        if self.runs in {2, 3}:
            self.killer(project)


def test_a_shop_in_kafka_equals_the_source_in_steps_after_kills_and_a_restart(
    broker: Broker,
) -> None:
    report = io.StringIO()
    accidents = Accidents(broker, Killer(seeded("kafka")))
    is_equal = verify(
        SHOP,
        PROJECT,
        runs=STEPS,
        before_run=accidents,
        carrier=Topics(broker, len(SHOP.lines()) // STEPS + 1),
        console=Console(file=report, width=120),
    )
    assert is_equal, f"{accidents.killer.kills}\n{report.getvalue()}"
    assert len(accidents.killer.kills) == 2


@dataclass
class Look:
    """What stands in the warehouse."""

    landed: list[tuple[int, int]]
    cut: int | None
    current: list[int]
    raw_snapshots: int


@dataclass
class Outcome:
    """What the warehouse and the screen showed, step by step."""

    silent_partition: Look
    all_partitions: Look
    nothing_new: Look
    added_partition: Look
    lost: Look
    lost_said: str
    ungapped: Look
    refusals: dict[str, str]
    after_refusals: Look
    guarded: list[dict[str, Any]]
    freshness: dict[str, str]


ROW: Final[dict[str, str | None]] = {"id": "1"}


def _at(partition: int, *values: str) -> list[dict[str, Any]]:
    return [{"partition": partition, "value": value.encode()} for value in values]


def _look(pipeline: Pipeline) -> Look:
    (cut,) = pipeline.rows(
        "select cut_ts from verify.resolved_cuts where kafka_topic = 't'"
    )
    raw = pipeline.rows("select partition, offset from verify.raw_t order by all")
    ids = []
    if pipeline.rows("show views in verify like 'cur_db__t'"):
        ids = pipeline.rows("select id from verify.cur_db__t order by id")
    return Look(
        [(row["partition"], row["offset"]) for row in raw],
        cut["cut_ts"],
        [row["id"] for row in ids],
        len(pipeline.rows("select * from verify.raw_t.snapshots")),
    )


def _clusters(broker: Broker) -> dict[str, dict[str, str]]:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    credential = "password=\"{{ env_var('DBT_ENV_SECRET_KAFKA_PASSWORD') }}\";"
    guarded = {
        "bootstrap.servers": broker.servers_with_password,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
    }
    return {
        "main": {"bootstrap.servers": broker.servers},
        "guarded": guarded
        | {"sasl.jaas.config": f'{login} username="{USER}" {credential}'},
        "refused": guarded
        | {"sasl.jaas.config": f'{login} username="nobody" {credential}'},
        "silent": {
            "bootstrap.servers": "127.0.0.1:1",
            "default.api.timeout.ms": "2000",
            "request.timeout.ms": "1000",
        },
    }


def _set_clusters(project: Path, clusters: dict[str, dict[str, str]]) -> None:
    path = project / "profiles.yml"
    profile = yaml.safe_load(path.read_text())
    profile["changefold"]["outputs"]["interpreted"]["kafka"] = clusters
    path.unlink()
    path.write_text(yaml.safe_dump(profile))


def _refusal(pipeline: Pipeline) -> str:
    said = io.StringIO()
    with pytest.raises(DbtFailedError), contextlib.redirect_stdout(said):
        pipeline.dbt("run", "--select", "watermarks")
    return " ".join(said.getvalue().split())


def _refusals(pipeline: Pipeline, broker: Broker) -> dict[str, str]:
    said = {}
    for cluster in ("silent", "refused", "elsewhere"):
        pipeline.declare("t", kafka=cluster)
        said[cluster] = _refusal(pipeline)
    pipeline.declare("t", kafka="main", pattern="no_such_.*")
    said["no name like it"] = _refusal(pipeline)
    pipeline.declare("t", pattern="")
    broker.delete_topic("t")
    said["no such topic"] = _refusal(pipeline)
    broker.create_topic("t", 3)
    said["made again"] = _refusal(pipeline)
    pipeline.declare("t", partitions=3)
    said["partitions"] = _refusal(pipeline)
    return said


@pytest.fixture(scope="module")
def outcome(broker: Broker) -> Iterator[Outcome]:
    broker.create_topic("t", 2)
    broker.create_topic("guarded", 1, {"max.message.bytes": "8000000"})
    broker.send(
        [
            {
                "partition": 0,
                "key": b"k",
                "value": b"x" * 3_000_000,
                "headers": [("h", b"1")],
            }
        ],
        "guarded",
    )
    with scratch_project(PROJECT, "interpreted") as folder:
        _set_clusters(folder, _clusters(broker))
        in_kafka = {"files": None, "partitions": None}
        pipeline = Pipeline(
            folder,
            {"t": 0, "guarded": 0},
            t=in_kafka | {"kafka": "main"},
            guarded=in_kafka | {"kafka": "guarded"},
        )
        table = ddl("CREATE TABLE `t` (`id` INT PRIMARY KEY)", 100)
        broker.send(_at(0, table, change("INSERT", ROW, 110), watermark(200)), "t")
        pipeline.dbt("run", "--quiet")
        silent_partition = _look(pipeline)

        broker.send(_at(1, watermark(200)), "t")
        pipeline.dbt("run", "--quiet", "--select", "+table_schemas")
        update_models(folder, "verify", check=False)
        pipeline.dbt("run", "--quiet")
        all_partitions = _look(pipeline)
        pipeline.dbt("run", "--quiet")
        nothing_new = _look(pipeline)

        broker.add_partitions("t", 3)
        broker.send(_at(0, watermark(250)), "t")
        broker.send(_at(1, watermark(250)), "t")
        pipeline.dbt("run", "--quiet")
        added_partition = _look(pipeline)

        lost = [change("INSERT", {"id": "2"}, 260), change("INSERT", {"id": "3"}, 270)]
        broker.send(_at(0, *lost, watermark(300)), "t")
        broker.send(_at(1, change("INSERT", {"id": "4"}, 280), watermark(300)), "t")
        broker.send(_at(2, watermark(300)), "t")
        broker.delete_before("t", 0, 6)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            pipeline.dbt("run")
        after_loss = _look(pipeline)
        pipeline.declare("t", is_gapless=False)
        pipeline.dbt("build", "--quiet")
        ungapped = _look(pipeline)
        fresh = pipeline.dbt("source", "freshness", "--select", "source:raw")
        yield Outcome(
            silent_partition,
            all_partitions,
            nothing_new,
            added_partition,
            after_loss,
            " ".join(said.getvalue().split()),
            ungapped,
            _refusals(pipeline, broker),
            _look(pipeline),
            pipeline.rows("select * from verify.raw_guarded"),
            {
                result.node.name: str(result.status)
                for result in fresh.results
                if result.node.resource_type == "source"
            },
        )


def test_a_partition_that_has_sent_nothing_yet_holds_the_cut_back(
    outcome: Outcome,
) -> None:
    assert outcome.silent_partition.landed == [(0, 0), (0, 1), (0, 2)]
    assert outcome.silent_partition.cut is None
    assert outcome.silent_partition.current == []
    assert outcome.all_partitions.cut == 200
    assert outcome.all_partitions.current == [1]


def test_without_a_new_message_nothing_is_written(outcome: Outcome) -> None:
    assert outcome.nothing_new == outcome.all_partitions


def test_a_partition_that_is_added_holds_the_cut_where_it_is(outcome: Outcome) -> None:
    assert outcome.added_partition.cut == 200
    assert outcome.added_partition.current == [1]


def test_messages_that_kafka_deleted_are_named_and_the_cut_stays_before_them(
    outcome: Outcome,
) -> None:
    assert "deleted the offsets 4 to 5 of partition 0 of `t`" in outcome.lost_said
    assert (0, 6) in outcome.lost.landed
    assert (0, 5) not in outcome.lost.landed
    assert outcome.lost.cut == 250
    assert outcome.lost.current == [1]


def test_a_topic_declared_as_not_gapless_goes_on_without_them(outcome: Outcome) -> None:
    assert outcome.ungapped.cut == 300
    assert outcome.ungapped.current == [1, 4]


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ("silent", "topic `t`: asked Kafka at 127.0.0.1:1: no broker answers"),
        ("refused", "it refuses the user"),
        ("elsewhere", "topic `t` is in the Kafka cluster `elsewhere`, but `kafka` in"),
        ("no name like it", "has no topic with a name like `no_such_.*`"),
        ("no such topic", "there is no such topic"),
        ("made again", "`t` was deleted and made again"),
        ("partitions", "expected no `partitions` beside `kafka`"),
    ],
)
def test_what_is_wrong_with_a_topic_is_said_in_a_sentence(
    outcome: Outcome, case: str, sentence: str
) -> None:
    assert sentence in outcome.refusals[case]
    assert "Traceback" not in outcome.refusals[case]


def test_a_refusal_leaves_the_raw_table_as_it_is(outcome: Outcome) -> None:
    assert outcome.after_refusals == outcome.ungapped


def test_a_large_message_lands_whole_with_a_password(outcome: Outcome) -> None:
    (row,) = outcome.guarded
    assert bytes(row["key"]) == b"k"
    assert len(row["value"]) == 3_000_000
    assert [(h["key"], bytes(h["value"])) for h in row["headers"]] == [("h", b"1")]
    assert row["landed_from"] == "kafka:guarded"


def test_the_freshness_of_a_topic_in_kafka_is_known(outcome: Outcome) -> None:
    assert outcome.freshness == {"t": "pass", "guarded": "pass"}
