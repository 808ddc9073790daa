"""What the actions of a DDL do to the partitions of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from changefold.mysql.ddl import Partition, PartitionAction, Partitioning
from changefold.schemas.partition_rows import UnknownRowsError, rows_of_partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from changefold.schemas.model import AffectedPartition
    from changefold.schemas.partition_rows import PartitionedColumns


def affected_partitions(
    partitioning: Partitioning | None,
    action: PartitionAction,
    columns: PartitionedColumns,
) -> tuple[AffectedPartition, ...]:
    """Return the partitions an action names, with the rows that they hold.

    Raises:
        UnknownRowsError: If that is not known of one.
    """
    wanted = {name.lower() for name in action.names}
    affected: list[AffectedPartition] = []
    below: Partition | None = None
    for partition in () if partitioning is None else partitioning.partitions:
        if partition.name.lower() in wanted:
            affected.append(rows_of_partition(columns, partition, below))
        below = partition
    found = {partition.name.lower() for partition in affected}
    for name in action.names:
        if name.lower() not in found:
            raise UnknownRowsError(f"its partition {name} was never seen")
    return tuple(affected)


def partitioning_after(
    partitioning: Partitioning | None, action: PartitionAction
) -> Partitioning | None:
    """Return how a table is partitioned after an action."""
    if action.operation in {"remove", "partition_by"}:
        return action.partitioning
    if partitioning is None:
        return None
    change = _PARTITION_CHANGES.get(action.operation)
    if change is None:
        return partitioning
    partitions = change(partitioning.partitions, action)
    return msgspec.structs.replace(partitioning, partitions=partitions)


def _without(
    partitions: tuple[Partition, ...], action: PartitionAction
) -> tuple[Partition, ...]:
    gone = {name.lower() for name in action.names}
    return tuple(p for p in partitions if p.name.lower() not in gone)


def _with_added(
    partitions: tuple[Partition, ...], action: PartitionAction
) -> tuple[Partition, ...]:
    numbers = range(len(partitions), len(partitions) + (action.count or 0))
    return (
        *partitions,
        *action.partitions,
        *(Partition(f"p{number}") for number in numbers),
    )


def _reorganized(
    partitions: tuple[Partition, ...], action: PartitionAction
) -> tuple[Partition, ...]:
    gone = {name.lower() for name in action.names}
    names = [partition.name.lower() for partition in partitions]
    first = next((i for i, name in enumerate(names) if name in gone), len(names))
    return (
        *partitions[:first],
        *action.partitions,
        *(p for p in partitions[first:] if p.name.lower() not in gone),
    )


def _coalesced(
    partitions: tuple[Partition, ...], action: PartitionAction
) -> tuple[Partition, ...]:
    return partitions[: max(len(partitions) - (action.count or 0), 0)]


_PARTITION_CHANGES: Final[
    dict[
        str,
        Callable[[tuple[Partition, ...], PartitionAction], tuple[Partition, ...]],
    ]
] = {
    "drop": _without,
    "add": _with_added,
    "reorganize": _reorganized,
    "coalesce": _coalesced,
}
