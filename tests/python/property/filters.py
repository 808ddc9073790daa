"""Random filters of a changefeed, and what they leave of a source."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, Literal

import yaml
from histories import (
    DATABASE,
    Commit,
    Ddl,
    Row,
    RowChange,
    Source,
    happens,
    key_of,
)

from changefold_tools.verify.run import declare_topics

FILE: Final = "changefeed.toml"

EventType = Literal["insert", "update", "delete"]

_VALUES: Final[Mapping[str, Callable[[Row], bool]]] = {
    "id = 2": lambda row: row["id"] == "2",
    "id < 0 or id > 9007199254740992": lambda row: (
        row["id"] in {"-1", "9007199254740993"}
    ),
    "history_id % 3 = 1": lambda row: int(str(row["history_id"])) % 3 == 1,
}
"""Expressions over columns that no DDL touches, and what they say of a row."""


@dataclass(frozen=True)
class Filter:
    """A filter of a changefeed, for some names of tables.

    Attributes:
        refused: Tables that the rules refuse.
        ignored: Event types that are ignored.
        values: Expressions by key of the configuration.
        ignores_truncate: TRUNCATE TABLE is ignored.
    """

    refused: frozenset[str] = frozenset()
    ignored: frozenset[EventType] = frozenset()
    values: Mapping[str, str] = field(default_factory=dict)
    ignores_truncate: bool = False

    @property
    def text(self) -> str:
        """The configuration file."""
        rules = ["*.*", *(f"!{DATABASE}.{name}" for name in sorted(self.refused))]
        events = sorted(self.ignored) + ["truncate table"] * self.ignores_truncate
        lines = [
            "[filter]",
            f"rules = {rules}",
            "[[filter.event-filters]]",
            f'matcher = ["{DATABASE}.*"]',
            f"ignore-event = {events}",
            *(f'{key} = "{expression}"' for key, expression in self.values.items()),
        ]
        return "\n".join(lines) + "\n"

    def refuses(self, event: RowChange) -> bool:
        """Tell whether an event is not sent."""
        return (
            event.table in self.refused
            or event_type(event) in self.ignored
            or self._holds(
                "ignore-update-old-value-expr", event, "update", event.before
            )
            or self._holds("ignore-update-new-value-expr", event, "update", event.after)
            or self._holds("ignore-delete-value-expr", event, "delete", event.before)
        )

    def refuses_ddl(self, ddl: Ddl) -> bool:
        """Tell whether a DDL is not sent."""
        is_ignored = self.ignores_truncate and ddl.type == "TRUNCATE"
        return ddl.table in self.refused or is_ignored

    def _holds(
        self, key: str, event: RowChange, wanted: EventType, row: Row | None
    ) -> bool:
        expression = self.values.get(key)
        if expression is None or row is None or event_type(event) != wanted:
            return False
        return _VALUES[expression](row)


def event_type(event: RowChange) -> EventType:
    """Return what TiCDC's filter calls a change."""
    if event.before is None:
        return "insert"
    return "delete" if event.after is None else "update"


def draw_filter(random: Random, source: Source) -> Filter:
    """Draw a filter.

    Of tables that bear each other's names it refuses all or none. Inserts are let
    through: a history can not tell a row that was never sent from one that begins, so the
    truth would have to know what the tables do.
    """
    groups = _related_names(source.commits)
    refused = random.choice(groups) if len(groups) > 1 and happens(random, 0.5) else ()
    types: tuple[EventType, ...] = ("update", "delete")
    keys = ["ignore-update-old-value-expr", "ignore-update-new-value-expr"]
    keys += ["ignore-delete-value-expr"]
    return Filter(
        refused=frozenset(refused),
        ignored=frozenset(one for one in types if happens(random, 0.15)),
        values={
            key: random.choice(list(_VALUES)) for key in keys if happens(random, 0.6)
        },
        ignores_truncate=happens(random, 0.5),
    )


def _related_names(commits: Iterable[Commit]) -> list[frozenset[str]]:
    groups: list[frozenset[str]] = []
    for commit in commits:
        for event in commit.ddls:
            touched = [group for group in groups if group & event.names]
            groups = [group for group in groups if group not in touched]
            groups.append(frozenset(event.names).union(*touched))
    return groups


def declare_filter(project: Path, chosen: Filter) -> None:
    """Declare a filter at all topics of a scratch project."""
    path = project / FILE
    if path.exists():
        return
    path.write_text(chosen.text, encoding="utf-8")
    topics = yaml.safe_load((project / "dbt_project.yml").read_text())["vars"]["topics"]
    declare_topics(project, [{**topic, "filter": FILE} for topic in topics])


class Received(Source):
    """What a reader knows of a source by the events that a filter lets through."""

    def receive(self, commit_ts: int, events: Iterable[RowChange]) -> None:
        """Apply events as they are: of rows that were never seen too, deletes first."""
        events = list(events)
        changed = sorted(events, key=lambda event: event.after is not None)
        before = {table: dict(rows) for table, rows in self.rows.items()}
        for event in changed:
            rows = self.rows[event.table]
            if event.before is not None:
                rows.pop(key_of(event.before), None)
            if event.after is not None:
                rows[key_of(event.after)] = event.after
        self._log(Commit(commit_ts, tuple(events)), before, "dml")


def received(
    source: Source,
    chosen: Filter,
    events_of: Callable[[RowChange], Iterable[RowChange]],
) -> Source:
    """Return what a filter leaves of a source.

    Args:
        source: What happened.
        chosen: The filter.
        events_of: The events that a change is sent as.
    """
    left = Received()
    for commit in source.commits:
        ddls = [e.ddl for e in commit.ddls if not chosen.refuses_ddl(e.ddl)]
        if ddls:
            left.execute(commit.commit_ts, *ddls)
        events = [event for change in commit.changes for event in events_of(change)]
        sent = [event for event in events if not chosen.refuses(event)]
        if sent:
            left.receive(commit.commit_ts, sent)
    return left
