"""DuckDB, as one would write it by hand: parse, order, number the versions.

Of late changes, DDLs, other types, quarantine and replays it knows nothing.
"""

from __future__ import annotations

import json

import duckdb

from contest import Paths, contestant

_TYPES = {"decimal": "decimal(14,2)", "datetime": "timestamp"}

_CUT = """
select min(watermark_ts) from (
    select max(watermark_ts) as watermark_ts from log group by partition
)
"""

_VERSIONS = """
insert into history
select * exclude (type, commit_ts), commit_ts as from_ts, lead(commit_ts) over (
    partition by id order by commit_ts
) as to_ts
from (
    select row.*, type, commit_ts from log
    where row is not null and commit_ts < cut() and {touched}
    qualify row_number() over (partition by row.id, commit_ts order by message_offset) = 1
)
qualify type <> 'DELETE'
"""


class DuckDb:
    """The log of messages and the history, in a database file."""

    def start(self, paths: Paths) -> None:
        """Open the database."""
        self._db = duckdb.connect(str(paths.work / "contest.db"))
        self._db.execute("set timezone = 'UTC'; set threads = 2")

    def land(self, messages: str) -> None:
        """Nothing: it reads the file."""

    def load(self, paths: Paths) -> None:
        """Read the whole topic."""
        types = {name: _TYPES.get(kind, kind) for name, kind in paths.columns.items()}
        fields = ", ".join(f"{name} {kind}" for name, kind in types.items())
        self._message = json.dumps(
            {
                "type": "varchar",
                "data": [types],
                "_tidb": {"commitTs": "bigint", "watermarkTs": "bigint"},
            }
        )
        self._db.execute(
            "create table log (partition int, message_offset bigint, type varchar,"
            f" commit_ts bigint, watermark_ts bigint, row struct({fields}))"
        )
        self._append(paths.load)
        self._db.execute(f"create macro cut() as ({_CUT})")
        self._db.execute(
            "create table history as select row.*, 0::bigint as from_ts,"
            " 0::bigint as to_ts from log where false"
        )
        self._db.execute(_VERSIONS.format(touched="true"))

    def batch(self, messages: str) -> None:
        """Read what is new, and number the versions of its keys again."""
        [before] = self._db.execute("select cut()").fetchall()[0:1]
        self._append(messages)
        self._db.execute(
            "create or replace temp table touched as select distinct row.id as id from log"
            f" where commit_ts >= {before[0]}"
        )
        self._db.execute("delete from history where id in (select id from touched)")
        self._db.execute(_VERSIONS.format(touched="row.id in (select id from touched)"))

    def export(self, paths: Paths) -> None:
        """Write the history and what of it is current."""
        self._db.execute(f"copy history to '{paths.history}' (format parquet)")
        self._db.execute(
            "copy (select * exclude (from_ts, to_ts) from history where to_ts is null)"
            f" to '{paths.current}' (format parquet)"
        )

    def _append(self, parquet: str) -> None:
        self._db.execute(
            'insert into log select partition, "offset", message.type,'
            ' message."_tidb"."commitTs", message."_tidb"."watermarkTs", message.data[1]'
            ' from (select partition, "offset", json_transform(decode(value), ?) as'
            f" message from read_parquet('{parquet}'))",
            [self._message],
        )


if __name__ == "__main__":
    contestant(DuckDb())
