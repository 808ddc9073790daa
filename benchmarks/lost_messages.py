"""How many lost changes `disagreements` finds.

Builds a recording whole, then again without one change in a hundred (each with all its
deliveries), and counts of the lost changes those whose row changed again later, and of these
those that the next change of the row gave away. It can also cut a piece out of the middle;
and exchange messages of a partition, or send some again, of which `unexplained` tells how many
rows disagree.

    python benchmarks/lost_messages.py FOLDER VARIANT [--how drop|cut|swap|repeat]

Prints one line of JSON: `rows` of changes, `lost` ones, `changed_again` of these, `compared` of
these (by the rules of docs/disagreements.md), `found` of these, and `unexplained`
disagreements, of rows of which nothing was lost.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from changefold_tools.session import run_dbt, spark_session
from changefold_tools.verify.run import (
    Files,
    Recording,
    declare_topics,
    declared_by,
    scratch_project,
)

PROJECT = Path(__file__).parents[1]
SCHEMA = "verify"

CHANGES = f"""
    select
        changes.kafka_partition,
        changes.kafka_offset,
        changes.record_topic,
        tables.table_uid,
        changes.change_sequence,
        changes.op,
        tables.key_columns,
        coalesce(changes.after, changes.before_sent) as image,
        changes.after,
        changes.before_sent,
        changes.connector is distinct from 'postgresql' or tables.tells_row_before
            as tells_deleted_row
    from {SCHEMA}.changes as changes
    inner join {SCHEMA}.folded_tables as tables
        on
            changes.kafka_topic = tables.kafka_topic
            and changes.source_database = tables.source_database
            and changes.source_table = tables.source_table
            and changes.change_sequence > tables.from_sequence
            and changes.change_sequence <= tables.to_sequence
"""

DELIVERIES = f"""
    select
        identity,
        record_topic,
        kafka_partition,
        kafka_offset
    from {SCHEMA}.change_log
    where event_kind = 'row'
"""

SCHEMAS = f"""
    select table_uid, valid_from_sequence
    from {SCHEMA}.table_schemas
    where schema_version > 1
"""

FOUND = f"""
    select table_uid, row_key, from_sequence
    from {SCHEMA}.row_versions
    where disagreement is not null
"""

LATER = 20
"""So many messages behind it one is sent again, or before it one is exchanged with."""

Place = tuple[str, int, int]


class Change(NamedTuple):
    """A change of a row, and where its message lies."""

    place: Place
    row: tuple[str, str]
    sequence: str
    op: str
    image: str | None
    tells_before: bool


def build(recording: Recording, lines: list[str]) -> dict[str, list[Any]]:
    """Build messages and return what the queries of this module say of them."""
    with scratch_project(PROJECT, "interpreted") as copy:
        carrier = Files(copy / "messages")
        topics = [
            topic | {"is_gapless": False} for topic in declared_by(recording, lines)
        ]
        declare_topics(copy, carrier.declare(topics))
        carrier.send(lines, 0)
        run_dbt(["run", "--select", "+disagreements", "--quiet"], copy)
        spark = spark_session()
        return {
            name: spark.sql(query).collect()
            for name, query in (
                ("changes", CHANGES),
                ("deliveries", DELIVERIES),
                ("schemas", SCHEMAS),
                ("found", FOUND),
            )
        }


def changes_of_rows(rows: list[Any]) -> list[Change]:
    """Return the changes of rows with a key, in order: an UPDATE of it is of two rows."""
    changes: list[Change] = []
    for row in rows:
        if not row.key_columns:
            continue
        place = row.record_topic, row.kafka_partition, row.kafka_offset
        after = json.loads(row.image)
        keys = {_key(after, row.key_columns)}
        if row.op == "u" and row.before_sent:
            keys.add(_key(after | json.loads(row.before_sent), row.key_columns))
        changes.extend(
            Change(
                place,
                (row.table_uid, key),
                row.change_sequence,
                row.op,
                row.after,
                row.op == "c"
                or (
                    row.before_sent is not None
                    and (row.op == "u" or row.tells_deleted_row)
                ),
            )
            for key in keys
        )
    return sorted(changes, key=lambda change: change.sequence)


def _key(row: dict[str, str], columns: list[str]) -> str:
    return json.dumps(
        [row.get(name) for name in columns], separators=(",", ":"), ensure_ascii=False
    )


def is_compared(before: list[Change], later: Change, schemas: list[Any]) -> bool:
    """Tell whether a change is compared with the row that it meets (docs/disagreements.md).

    Args:
        before: The change of the row before it, if there is one.
        later: The change.
        schemas: The moments at which schemas of tables changed.
    """
    if not before:
        return True
    return (
        later.tells_before
        and before[-1].op != "r"
        and not (later.op == "c" and later.image == before[-1].image)
        and not any(
            schema.table_uid == later.row[0]
            and before[-1].sequence <= schema.valid_from_sequence < later.sequence
            for schema in schemas
        )
    )


def place_of(line: str) -> Place:
    """Return where a recorded message lies."""
    record = json.loads(line)
    return record["topic"], record["partition"], record["offset"]


def changed_lines(
    lines: list[str], how: str, share: float, whole: dict[str, list[Any]]
) -> tuple[list[str], set[Place]]:
    """Return what is left of messages, and the places of those that are lost."""
    chance = random.Random(1)  # noqa: S311 # no secret
    if how == "cut":
        middle, count = len(lines) // 2, int(len(lines) * share)
        kept = lines[:middle] + lines[middle + count :]
        return kept, {place_of(line) for line in lines[middle : middle + count]}
    if how == "drop":
        by_identity = defaultdict(set)
        for row in whole["deliveries"]:
            place = row.record_topic, row.kafka_partition, row.kafka_offset
            by_identity[row.identity or place].add(place)
        events = sorted(
            {
                (row.record_topic, row.kafka_partition, row.kafka_offset)
                for row in whole["changes"]
                if row.op != "r"
            }
        )
        chosen = set(chance.sample(events, int(len(events) * share)))
        lost = {
            place
            for places in by_identity.values()
            if places & chosen
            for place in places
        }
        return [line for line in lines if place_of(line) not in lost], lost
    changed = list(lines)
    chosen_lines = chance.sample(range(len(lines)), int(len(lines) * share))
    for number in sorted(chosen_lines, reverse=True):
        if how == "repeat":
            changed.insert(number + LATER, lines[number])
            continue
        partition = place_of(lines[number])[:2]
        others = range(max(0, number - LATER), number)
        for other in reversed(others):
            if place_of(lines[other])[:2] == partition:
                changed[number], changed[other] = changed[other], changed[number]
                break
    return numbered(changed), set()


def numbered(lines: list[str]) -> list[str]:
    """Return messages with the offsets that Kafka gives them in this order."""
    offsets: Counter[tuple[str, int]] = Counter()
    found = []
    for line in lines:
        record = json.loads(line)
        partition = record["topic"], record["partition"]
        found.append(json.dumps(record | {"offset": offsets[partition]}) + "\n")
        offsets[partition] += 1
    return found


def main() -> None:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("variant")
    parser.add_argument(
        "--how", default="drop", choices=["drop", "cut", "swap", "repeat"]
    )
    parser.add_argument("--share", type=float, default=0.01)
    arguments = parser.parse_args()
    recording = Recording(arguments.folder, arguments.variant)
    lines = recording.lines()
    whole = build(recording, lines)
    kept, lost_places = changed_lines(lines, arguments.how, arguments.share, whole)
    rows = build(recording, kept)
    by_row = defaultdict(list)
    changes = changes_of_rows(whole["changes"])
    for change in changes:
        by_row[change.row].append(change)
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows["found"]:
        found[row.table_uid, row.row_key].add(row.from_sequence)
    lost = [change for change in changes if change.place in lost_places]
    again, compared, given_away = [], [], []
    for change in lost:
        kept_changes = [
            other for other in by_row[change.row] if other.place not in lost_places
        ]
        # Of a DELETE and an INSERT of one commit, the INSERT is the later one.
        later = [
            other
            for other in kept_changes
            if (other.sequence, other.op != "d") > (change.sequence, change.op != "d")
        ]
        if not later:
            continue
        again.append(change)
        before = [other for other in kept_changes if other not in later]
        if is_compared(before[-1:], later[0], whole["schemas"]):
            compared.append(change)
            if later[0].sequence in found.get(change.row, ()):
                given_away.append(change)
    rows_lost = {change.row for change in lost}
    sys.stdout.write(
        json.dumps(
            {
                "recording": f"{arguments.folder.name}/{arguments.variant}",
                "how": arguments.how,
                "rows": len(changes),
                "messages_left_out": len(lines) - len(kept),
                "lost": len(lost),
                "changed_again": len(again),
                "compared": len(compared),
                "found": len(given_away),
                "unexplained": sum(row not in rows_lost for row in found),
                "missed": [
                    [change.row, change.sequence, change.op]
                    for change in compared
                    if change not in given_away
                ][:5],
            }
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
