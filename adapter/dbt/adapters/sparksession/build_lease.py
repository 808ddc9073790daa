"""One build at a time, where no file can be locked: a row of a table that runs out.

A bucket has no lock that goes with its process. So a build writes its name into a table, with
the time until when that holds, and goes on moving the time. Of two that write at once the
table format lets one commit; a build that was killed is no obstacle after that time.
"""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING, Final

from dbt.adapters.sparksession.build_lock import this_process

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

__all__ = ["BuildLease"]

_POLL_SECONDS: Final = 2.0

_RENEWALS: Final = 4
"""How often it is renewed within its time."""

_TAKE: Final = """
merge into {table} as lease
using (
    select
        '{token}' as token,
        '{holder}' as holder,
        current_timestamp() + make_dt_interval(0, 0, 0, {seconds}) as expires_at
) as own
on true
when matched and lease.expires_at < current_timestamp() then update set *
when not matched then insert *
"""

_MOVE: Final = "update {table} set expires_at = {time} where token = '{token}'"


class BuildLease:
    """The lease of this process; it can be taken again while it is held."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._renewal: _Renewal | None = None

    def take(
        self, spark: SparkSession, table: str, wait_seconds: float, seconds: float
    ) -> str:
        """Take the lease, or say who has it.

        Args:
            spark: The session; the clock of its driver counts.
            table: Name of the table, as SQL: token, holder, expires_at.
            wait_seconds: How long to wait for it.
            seconds: After how many it runs out, if this process does not renew it.

        Returns:
            Nothing, if this process has it now; else who has it, as of `BuildLock.take`.
        """
        with self._guard:
            if self._renewal is not None:
                if self._renewal.table == table:
                    return ""
                self._renewal.stop()
                self._renewal = None
            token = uuid.uuid4().hex
            take = _TAKE.format(
                table=table,
                token=token,
                holder=this_process().replace("'", ""),
                seconds=seconds,
            )
            deadline = time.monotonic() + wait_seconds
            failure = ""
            while True:
                row = _held(spark, table)
                # Who only waits does not write: each write is one that a renewal of
                # the holder may lose against, and its lease with it.
                if row is None or row.is_over:
                    failure = _try(spark, take)
                    row = _held(spark, table)
                if row is not None and row.token == token:
                    self._renewal = _Renewal(spark, table, token, seconds)
                    return ""
                if time.monotonic() >= deadline:
                    return str(row.holder) if row is not None else failure
                time.sleep(_POLL_SECONDS)

    def release(self) -> None:
        """Give the lease back, if this process has it."""
        with self._guard:
            if self._renewal is not None:
                self._renewal.stop()
                self._renewal = None


class _Renewal:
    """Moves the time of a lease until it is stopped."""

    def __init__(
        self, spark: SparkSession, table: str, token: str, seconds: float
    ) -> None:
        self.table = table
        self._spark = spark
        self._token = token
        self._seconds = seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        later = f"current_timestamp() + make_dt_interval(0, 0, 0, {self._seconds})"
        held_until = time.monotonic() + self._seconds
        while not self._is_over.wait(self._seconds / _RENEWALS):
            asked = time.monotonic()
            try:
                self._spark.sql(self._moved_to(later))
                row = self._spark.table(self.table).select("token").first()
            except Exception:  # noqa: BLE001 # again, as long as it holds
                is_lost = asked > held_until
            else:
                is_lost = row is None or row.token != self._token
                held_until = asked + self._seconds
            if is_lost:
                # Another build works now: what this one would still write is too much.
                self._spark.sparkContext.cancelAllJobs()

    def _moved_to(self, moment: str) -> str:
        return _MOVE.format(table=self.table, token=self._token, time=moment)

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()
        _try(self._spark, self._moved_to("timestamp'1970-01-01'"))


def _held(spark: SparkSession, table: str) -> Row | None:
    """Return token, holder and is_over of the lease, if anybody ever took it."""
    return (
        spark.table(table)
        .selectExpr("token", "holder", "expires_at < current_timestamp() as is_over")
        .first()
    )


def _try(spark: SparkSession, statement: str) -> str:
    """Run a statement that fails if another process has written meanwhile.

    Returns:
        What it failed with; nothing, if it did not.
    """
    try:
        spark.sql(statement)
    except Exception as error:  # noqa: BLE001 # the caller reads who has the lease
        return str(error)
    return ""
