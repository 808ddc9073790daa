"""Reads topics of a Kafka cluster in batches whose ends are fixed beforehand."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dbt_common.exceptions import DbtRuntimeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

PATIENCE: Final = {"default.api.timeout.ms": "30000", "request.timeout.ms": "20000"}
"""How long a broker may take to answer, where the profile does not say."""


@dataclass(frozen=True)
class Landed:
    """How far a partition has landed.

    Attributes:
        topic: Name of the Kafka topic.
        partition: Its number.
        topic_id: The id that Kafka gave the topic when it was made; a topic of the same
            name that is made later has another. Empty where it is not known.
        next_offset: The first offset that has not landed.
    """

    topic: str
    partition: int
    topic_id: str
    next_offset: int


@dataclass(frozen=True)
class Slice:
    """What a batch takes from a partition.

    Attributes:
        topic: Name of the Kafka topic.
        partition: Its number.
        topic_id: The id that Kafka gave the topic.
        start_offset: The first offset of it.
        end_offset: The offset behind its last one: the start, if there is none.
        newest_offset: The offset behind the last one that Kafka has.
        lost_from: The first offset that should have landed, but that Kafka deleted
            before; the start, if there is none.
    """

    topic: str
    partition: int
    topic_id: str
    start_offset: int
    end_offset: int
    newest_offset: int
    lost_from: int

    @property
    def remaining(self) -> int:
        """Number of offsets that a later batch will take."""
        return self.newest_offset - self.end_offset


@dataclass(frozen=True)
class Available:
    """What Kafka has of a partition.

    Attributes:
        topic: Name of the Kafka topic.
        partition: Its number.
        topic_id: The id that Kafka gave the topic.
        earliest_offset: The first offset that it has not deleted.
        newest_offset: The offset behind its last one.
    """

    topic: str
    partition: int
    topic_id: str
    earliest_offset: int
    newest_offset: int


def slices_of(
    topic: str, found: Iterable[Available], landed: Iterable[Landed]
) -> list[Slice]:
    """Return what of each partition has not landed yet.

    Args:
        topic: Name of the declaration, for the errors.
        found: What Kafka has.
        landed: How far the partitions have landed that were seen before.

    Raises:
        DbtRuntimeError: If a topic is another than the one that landed.
    """
    known = {(place.topic, place.partition): place for place in landed}
    ids = {place.topic: place.topic_id for place in known.values() if place.topic_id}
    slices = []
    for place in found:
        before = known.get((place.topic, place.partition))
        next_offset = before.next_offset if before else place.earliest_offset
        if ids.get(place.topic, place.topic_id) != place.topic_id:
            raise DbtRuntimeError(
                f"var `topics`: topic `{topic}`: Kafka's topic `{place.topic}` was deleted "
                f"and made again: it has another id than the one that landed, and its "
                f"offsets begin anew. {_ANOTHER_TOPIC}"
            )
        if next_offset > place.newest_offset:
            raise DbtRuntimeError(
                f"var `topics`: topic `{topic}`: partition {place.partition} of Kafka's "
                f"topic `{place.topic}` ends before offset {place.newest_offset}, but all "
                f"before {next_offset} have landed: it is not the one that it was. "
                f"{_ANOTHER_TOPIC}"
            )
        start = max(next_offset, place.earliest_offset)
        slices.append(
            Slice(
                place.topic,
                place.partition,
                place.topic_id,
                start,
                place.newest_offset,
                place.newest_offset,
                next_offset,
            )
        )
    return slices


_ANOTHER_TOPIC: Final = (
    "What landed stays as it is. Declare the present one as a topic of another `name`, "
    "with its own as `pattern`."
)


def bound(slices: Sequence[Slice], max_offsets: int | None) -> list[Slice]:
    """Return slices that have no more than so many offsets in sum.

    Each partition gives in proportion to what it has, so that their watermarks advance
    side by side, and one at least.
    """
    backlog = sum(part.end_offset - part.start_offset for part in slices)
    if max_offsets is None or backlog <= max_offsets:
        return list(slices)
    bounded = []
    for part in slices:
        waiting = part.end_offset - part.start_offset
        taken = -(-waiting * max_offsets // backlog)
        bounded.append(
            Slice(
                part.topic,
                part.partition,
                part.topic_id,
                part.start_offset,
                part.start_offset + taken,
                part.newest_offset,
                part.lost_from,
            )
        )
    return bounded


@dataclass(frozen=True)
class Source:
    """A declared topic in Kafka.

    Attributes:
        spark: The session; its JVM asks the brokers.
        name: Name of the declaration and, without a pattern, of the Kafka topic.
        pattern: Regular expression (Java) for whole names of Kafka topics, or empty.
        cluster: Name of the Kafka cluster in the profile.
        properties: Of the consumer, as Kafka names them: ``bootstrap.servers`` and so on.
    """

    spark: SparkSession
    name: str
    pattern: str
    cluster: str
    properties: Mapping[str, str]

    def plan(self, landed: Iterable[Landed], max_offsets: int | None) -> list[Slice]:
        """Return what the next batch takes from each partition.

        Args:
            landed: How far the partitions have landed that were seen before.
            max_offsets: The most offsets that the batch takes; None for no bound.

        Raises:
            DbtRuntimeError: With a sentence that names the topic, if no broker answers, it
                refuses, there is no such topic, or it is another than the one that landed.
        """
        from py4j.java_gateway import JavaPackage

        jvm: Any = self.spark._jvm  # Kafka's own client, as Spark uses it
        client = jvm.org.apache.kafka.clients.admin.AdminClient
        if isinstance(client, JavaPackage):  # what py4j takes an unknown class for
            raise DbtRuntimeError(
                f"var `topics`: topic `{self.name}` is in Kafka, but `packages` of the "
                "profile lacks Spark's connector, "
                "org.apache.spark:spark-sql-kafka-0-10_2.13 of Spark's own version, and "
                "the jars it needs; profiles.yml of this project names all."
            )
        given = jvm.java.util.Properties()
        for key, value in (PATIENCE | dict(self.properties)).items():
            given.setProperty(key, value)
        admin = None
        try:
            admin = client.create(given)
            found = _described(jvm, admin, self._topics(jvm, admin))
        except DbtRuntimeError:
            raise
        except Exception as error:
            raise DbtRuntimeError(
                sentence(self.name, self.properties, str(error))
            ) from error
        finally:
            if admin is not None:
                admin.close()
        return bound(slices_of(self.name, found, landed), max_offsets)

    def _topics(self, jvm: Any, admin: Any) -> list[str]:  # Java objects
        if not self.pattern:
            return [self.name]
        pattern = jvm.java.util.regex.Pattern.compile(self.pattern)
        every = admin.listTopics().names().get()
        names = [name for name in every if pattern.matcher(name).matches()]
        if not names:
            raise DbtRuntimeError(
                f"var `topics`: topic `{self.name}`: Kafka at "
                f"{self.properties.get('bootstrap.servers')} has no topic with a name like "
                f"`{self.pattern}`, or this user may see none."
            )
        return names

    def read(self, slices: Iterable[Slice]) -> DataFrame:
        """Return the messages of a batch in the columns of a raw table.

        A message that Kafka deletes meanwhile fails the statement that reads it.

        Args:
            slices: What to read, as of `plan`.
        """
        starts: dict[str, dict[str, int]] = {}
        ends: dict[str, dict[str, int]] = {}
        for part in slices:
            starts.setdefault(part.topic, {})[str(part.partition)] = part.start_offset
            ends.setdefault(part.topic, {})[str(part.partition)] = part.end_offset
        frame = self.spark.read.format("kafka").options(
            assign=json.dumps({name: list(map(int, starts[name])) for name in starts}),
            startingOffsets=json.dumps(starts),
            endingOffsets=json.dumps(ends),
            includeHeaders="true",
            failOnDataLoss="true",
            **{f"kafka.{key}": value for key, value in self.properties.items()},
        )
        return frame.load().selectExpr(
            "topic",
            "partition",
            "offset",
            "timestamp",
            "key",
            "value",
            "headers",
            f"'kafka:{self.cluster}' as landed_from",
        )


def _described(
    jvm: Any, admin: Any, names: list[str]
) -> list[Available]:  # Java objects
    topics = admin.describeTopics(jvm.java.util.ArrayList(names)).allTopicNames().get()
    specs = jvm.org.apache.kafka.clients.admin.OffsetSpec
    asked = {"earliest": jvm.java.util.HashMap(), "latest": jvm.java.util.HashMap()}
    places = []
    for name in names:
        description = topics.get(name)
        for info in description.partitions():
            place = jvm.org.apache.kafka.common.TopicPartition(name, info.partition())
            places.append((place, description.topicId().toString()))
            asked["earliest"].put(place, specs.earliest())
            asked["latest"].put(place, specs.latest())
    told = {key: admin.listOffsets(asked[key]).all().get() for key in asked}
    return [
        Available(
            place.topic(),
            place.partition(),
            topic_id,
            told["earliest"].get(place).offset(),
            told["latest"].get(place).offset(),
        )
        for place, topic_id in places
    ]


_FAILURES: Final = (
    (
        r"UnknownTopicOrPartition|InvalidTopicException",
        "there is no such topic. Is the name right, and may this user see it?",
    ),
    (
        r"SaslAuthentication",
        "it refuses the user: check `sasl.mechanism`, `sasl.jaas.config` and the password.",
    ),
    (
        r"SslHandshake|SSL handshake|SslAuthentication",
        "no secure connection comes about: check `security.protocol` and `ssl.truststore...`.",
    ),
    (
        r"AuthorizationException",
        "this user may not describe or read the topic: ask for the rights Describe and Read.",
    ),
    (
        r"ConfigException|No resolvable bootstrap",
        "its address or another of its properties is wrong.",
    ),
    (
        r"TimeoutException|TimedOut|DisconnectException",
        "no broker answers. Is it up, and is `security.protocol` the one of this port?",
    ),
)
"""Names of Kafka's exceptions, and what they mean for the person at the keyboard."""


def sentence(topic: str, properties: Mapping[str, str], message: str) -> str:
    """Return what a failure of Kafka's client means, and what it said.

    Args:
        topic: Name of the declaration.
        properties: Of the consumer.
        message: Text of the exception.
    """
    servers = properties.get("bootstrap.servers")
    for name, meaning in _FAILURES:
        if re.search(name, message):
            cause = re.findall(r"[\w.]*(?:Exception|Error): [^\n]*", message)
            return (
                f"var `topics`: topic `{topic}`: asked Kafka at {servers}: {meaning}\n"
                f"  ({cause[-1][:300] if cause else name})"
            )
    return f"var `topics`: topic `{topic}`: Kafka at {servers} could not be asked: {message}"
