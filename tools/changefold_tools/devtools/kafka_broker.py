"""An Apache Kafka of one broker on loopback, for tests and the demo."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyspark
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

RELEASE: Final = ("org.apache.kafka", "kafka_2.13", "4.1.1")
"""Maven coordinates of the broker; it runs in KRaft mode, without ZooKeeper."""

USER: Final = "reader"
"""The one user of the listener with passwords."""

_PATIENCE_SECONDS: Final = 60
_LARGEST_MESSAGE: Final = 50_000_000

_PROPERTIES: Final = """\
process.roles=broker,controller
node.id=1
listeners=PLAIN://127.0.0.1:{plain},SASL://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAIN://127.0.0.1:{plain},SASL://127.0.0.1:{sasl}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAIN
listener.security.protocol.map=PLAIN:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
log.dirs={folder}/data
log.retention.check.interval.ms=200
log.retention.ms=-1
log.segment.delete.delay.ms=0
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
"""
"""Messages stay whatever their age is: those of recordings are older than a week."""

_LOG: Final = """\
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


class BrokerError(RuntimeError):
    """The broker could not be fetched or started, or did not take what it was sent."""


def classpath(folder: Path) -> str:
    """Return the jars of the broker, fetched from a Maven repository if need be.

    Ivy, which comes with Spark, fetches them and keeps them in its own cache.

    Args:
        folder: Where the list of them is written.

    Raises:
        BrokerError: If they can not be fetched.
    """
    (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    listed = folder / "classpath"
    done = subprocess.run(  # noqa: S603 # Java, with jars of Spark
        [
            *(_java(), "-jar", str(ivy), "-confs", "default"),
            *("-dependency", *RELEASE, "-cachepath", str(listed)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not listed.exists():
        raise BrokerError(f"Kafka's jars could not be fetched: {done.stdout[-2000:]}")
    return listed.read_text().strip()


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"


def free_ports(count: int) -> list[int]:
    """Return ports on loopback that nothing listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Broker:
    """A broker that runs as a process of its own; it can be stopped and started again.

    As a context manager it starts, and stops at the end whatever happens.

    Attributes:
        servers: What clients take as ``bootstrap.servers``.
        servers_with_password: The same for clients of `USER`, by SASL PLAIN.
        password: Of `USER`.
    """

    def __init__(self, folder: Path) -> None:
        """Choose ports, and write the configuration.

        Args:
            folder: An empty folder for the broker's files.
        """
        self._folder = folder
        plain, sasl, controller = free_ports(3)
        self.servers = f"127.0.0.1:{plain}"
        self.servers_with_password = f"127.0.0.1:{sasl}"
        self.password = secrets.token_urlsafe(12)
        self._classpath = classpath(folder)
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "server.properties").write_text(
            _PROPERTIES.format(
                plain=plain,
                sasl=sasl,
                controller=controller,
                folder=folder,
                user=USER,
                password=self.password,
            )
        )
        (folder / "log4j2.properties").write_text(_LOG)
        self._java(
            "kafka.tools.StorageTool", "format", "--standalone"
        ).check_returncode()

    def _command(self, program: str, *arguments: str) -> list[str]:
        log = (self._folder / "log4j2.properties").as_uri()
        return [
            *(_java(), "-Xmx512m", f"-Dlog4j2.configurationFile={log}"),
            *("-cp", self._classpath, program, *arguments),
        ]

    def _java(
        self, program: str, *arguments: str
    ) -> subprocess.CompletedProcess[bytes]:
        properties = str(self._folder / "server.properties")
        cluster = "changefoldTestsKafkaAA"  # an id is 22 characters of base64
        return subprocess.run(  # noqa: S603 # Kafka's own tool
            self._command(program, *arguments, "-t", cluster, "-c", properties),
            capture_output=True,
            check=False,
        )

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the broker, and wait until it answers.

        Raises:
            BrokerError: If it ends, or does not answer.
        """
        log = self._folder / "broker.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 # Kafka itself
                self._command("kafka.Kafka", str(self._folder / "server.properties")),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                self._admin.list_topics(timeout=1)
            except KafkaException:
                has_ended = self._process.poll() is not None
                if has_ended or time.monotonic() > deadline:
                    self.stop()
                    tail = log.read_text(errors="replace")[-2000:]
                    raise BrokerError(f"Kafka did not start: {tail}") from None
            else:
                return

    def stop(self) -> None:
        """Stop the broker; what it was sent stays."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(timeout=_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _client(self) -> dict[str, Any]:
        # Its own lines about a broker that is not up yet are expected here.
        return {"bootstrap.servers": self.servers, "log_level": 0}

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient(self._client())

    def create_topic(
        self, name: str, partitions: int, config: Mapping[str, str] | None = None
    ) -> None:
        """Make a topic, with settings as Kafka names them."""
        topic = NewTopic(name, partitions, 1, config=dict(config or {}))
        self._admin.create_topics([topic])[name].result()

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and wait until it is gone."""
        self._admin.delete_topics([name])[name].result()
        while name in self._admin.list_topics(timeout=_PATIENCE_SECONDS).topics:
            time.sleep(0.05)

    def add_partitions(self, name: str, partitions: int) -> None:
        """Give a topic so many partitions, more than it has."""
        wanted = NewPartitions(name, partitions)
        self._admin.create_partitions([wanted])[name].result()

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records of a partition before an offset, as retention does."""
        place = TopicPartition(topic, partition, offset)
        self._admin.delete_records([place])[place].result()

    def send(self, records: Iterable[Mapping[str, Any]], topic: str = "") -> None:
        """Send records, and wait until the broker has them.

        The producer retries, and Kafka keeps each record once and in order.

        Args:
            records: With ``topic``, ``partition``, ``key``, ``value`` (bytes), ``timestamp``
                (ms) and ``headers`` (pairs), as far as they are there.
            topic: Instead of the records' own.

        Raises:
            BrokerError: If it refuses one.
        """
        producer = Producer(
            self._client()
            | {"enable.idempotence": True, "message.max.bytes": _LARGEST_MESSAGE}
        )
        failures: list[KafkaError] = []

        def note(error: KafkaError | None, _: object) -> None:
            if error is not None:
                failures.append(error)

        for record in records:
            given = {key: record[key] for key in _SENT if record.get(key) is not None}
            while True:
                try:
                    producer.produce(
                        topic or record["topic"], on_delivery=note, **given
                    )
                    break
                except BufferError:  # its queue is full
                    producer.poll(0.1)
        producer.flush()
        if failures:
            raise BrokerError(f"Kafka refused a record: {failures[0]}")


_SENT: Final = ("partition", "key", "value", "timestamp", "headers")
