"""Messages that an older version could not read, and that are read again later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from changefold_tools.session import run_dbt, spark_session

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

FIRST_RUN: Final = 1
SECOND_BATCH: Final = 3
"""Numbers of runs: the second one builds the models that the first one has found."""


@dataclass
class OlderVersion:
    """Puts changes of the first batch into quarantine, and has them read again.

    They are missing in the tables that the first two runs make. Before the second batch
    they are asked for, so that they are put between what was applied.

    Attributes:
        random: Makes the choices.
        quarantined: How many messages it put there.
    """

    random: Random
    quarantined: int = 0
    _runs: int = 0

    def __call__(self, project: Path) -> None:
        """Do what comes before a run on a project."""
        self._runs += 1
        if self._runs == FIRST_RUN:
            run_dbt(["seed", "--quiet"], project)
            run_dbt(["run", "--quiet", "--select", "+change_log"], project)
            self._quarantine()
        elif self._runs == SECOND_BATCH:
            run_dbt(["run-operation", "replay_quarantine", "--quiet"], project)

    def _quarantine(self) -> None:
        """Leave some changes, with all their copies, as an older version would."""
        spark = spark_session()
        found = spark.sql(
            "select distinct identity from verify.change_log"
            " where event_kind = 'row' order by identity"
        ).collect()
        chosen = self.random.sample(found, min(len(found), self.random.randint(1, 40)))
        identities = ", ".join(f"'{row.identity}'" for row in chosen)
        raw = spark.sql("show tables in verify like 'raw_*'").collect()[0].tableName
        spark.sql(
            f"""
            merge into verify.change_log as log
            using verify.{raw} as raw
            on log.kafka_partition = raw.partition
                and log.kafka_offset = raw.offset
                and log.identity in ({identities})
            when matched then update set
                log.event_kind = 'invalid',
                log.identity = concat_ws(
                    '/', log.kafka_topic, log.record_topic, log.kafka_partition,
                    log.kafka_offset, log.event_index
                ),
                log.is_duplicate = false,
                log.error_class = 'older',
                log.error_message = 'Not known yet',
                log.value = raw.value,
                log.parser_version = '0.0.1',
                log.quarantined_at = current_timestamp(),
                log.op = null, log.change_sequence = null, log.commit_ts = null,
                log.before = null, log.after = null, log.primary_key = null,
                log.column_types = null, log.source_table = null
            """
        )
        self.quarantined = spark.sql(
            "select 1 from verify.change_log where error_class = 'older'"
        ).count()
