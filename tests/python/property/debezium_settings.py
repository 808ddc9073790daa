"""How a connector of Debezium is set up, and how its day goes."""

from dataclasses import dataclass, replace
from random import Random

from debezium_histories import CONNECTORS, Connector
from histories import happens


@dataclass(frozen=True)
class Settings:
    """How a connector is set up and how its day goes.

    Attributes:
        connector: The connector.
        has_schemas: Whether its messages have their schema
            (``converter.schemas.enable``).
        has_tombstones: Whether one follows each delete (``tombstones.on.delete``).
        has_transactions: ``provide.transaction.metadata``.
        full_rows: PostgreSQL's ``REPLICA IDENTITY FULL`` for the tables with a key.
        overlap: Chance of a transaction that begins in the log before another ends.
        interrupted: Snapshots that were cut off before the first complete one.
        snapshots: Snapshots that are taken again later, of the same rows.
        rereads_keyless: Whether they read the table without a key too.
        chunks: How often an incremental snapshot reads some rows.
        has_signals: Whether these have the place of a signal, which is sent after
            them, rather than that of the last change (not with PostgreSQL).
        heartbeat_chance: Of a heartbeat after a transaction.
        repeat_chance: Of one old message again after a message.
        restarts: How often the connector starts again from an old position.
        loses: Whether a topic lacks what was sent from such a position on, until it is
            sent again: a past that was never seen. Not where the clock jumps, as the time
            tells of it.
        cuts_first: Whether it may have stopped within the first transaction after a
            snapshot. PostgreSQL's commit before that is told after a restart only, so
            that some of its changes come with one order and some with another.
        clock_jumps: Chance that the source's clock is set before a transaction: an hour
            to and fro, as where daylight saving is not left out.
        failovers: How often another server takes over: its positions begin anew.
        chunk: Longest run of messages read from one partition.
        compacted: Whether Kafka compacts the topics. Then no old message comes alone, no
            snapshot is broken off or replaces rows without a key, all values are sent,
            and no other server takes over: its first change may be gone.
        is_routed: Whether the topics have the tables of two databases, as a router over
            shards makes them: each partition has two logs. Not where Kafka compacts them,
            as keys of the two are equal.
    """

    connector: Connector
    has_schemas: bool = True
    has_tombstones: bool = True
    has_transactions: bool = False
    full_rows: bool = False
    overlap: float = 0.3
    interrupted: int = 0
    snapshots: int = 0
    rereads_keyless: bool = False
    chunks: int = 0
    has_signals: bool = True
    heartbeat_chance: float = 0.05
    repeat_chance: float = 0.05
    restarts: int = 1
    loses: bool = False
    cuts_first: bool = False
    clock_jumps: float = 0.0
    failovers: int = 0
    chunk: int = 20
    compacted: bool = False
    is_routed: bool = False


def draw_settings(random: Random, connector: Connector | None = None) -> Settings:
    """Draw the settings of a delivery, of one of the connectors if none is given."""
    drawn: Connector = random.choice(CONNECTORS)
    settings = Settings(
        connector=connector or drawn,
        has_schemas=happens(random, 0.6),
        has_tombstones=happens(random, 0.8),
        has_transactions=happens(random, 0.3),
        full_rows=happens(random, 0.3),
        overlap=random.choice((0.0, 0.3, 0.8)),
        interrupted=random.choice((0, 0, 1, 2)),
        snapshots=random.choice((0, 0, 1, 2)),
        rereads_keyless=happens(random, 0.5),
        chunks=random.choice((0, 1, 4)),
        has_signals=happens(random, 0.5),
        heartbeat_chance=random.choice((0.0, 0.05, 0.5)),
        repeat_chance=random.choice((0.0, 0.05, 0.3)),
        restarts=random.randint(0, 3),
        loses=happens(random, 0.3),
        cuts_first=happens(random, 0.5),
        clock_jumps=random.choice((0.0, 0.0, 0.3)),
        failovers=random.choice((0, 0, 1, 2)),
        chunk=random.choice((1, 20, 2000)),
        compacted=happens(random, 0.3),
    )
    if settings.compacted:
        return replace(
            settings,
            full_rows=True,
            interrupted=0,
            repeat_chance=0.0,
            rereads_keyless=False,
            failovers=0,
            loses=False,
        )
    if settings.clock_jumps:
        return replace(settings, loses=False)
    return settings
