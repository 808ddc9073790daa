"""How a table is partitioned."""

from changefold.mysql.ddl.actions import Partition, Partitioning, SqlValue
from changefold.mysql.ddl.definitions import read_value
from changefold.mysql.ddl.reader import NotUnderstoodError, Reader


def read_partitioning(reader: Reader) -> Partitioning:
    """Read what follows PARTITION BY."""
    linear = "linear " if reader.accept("LINEAR") else ""
    method = reader.accept_any("HASH", "KEY", "RANGE", "LIST", "SYSTEM_TIME")
    if method is None:
        raise reader.fail("`HASH`, `KEY`, `RANGE` or `LIST`")
    if method == "SYSTEM_TIME":  # of MariaDB: rows that are history, and the others
        return _by_system_time(reader)
    columns: tuple[str, ...] = ()
    expression: str | None = None
    with_columns = reader.accept("COLUMNS")
    if method == "KEY" and reader.accept("ALGORITHM"):
        reader.require("=")
        reader.number()
    if method == "KEY" or with_columns:
        reader.require("(")
        if not reader.is_word(")"):
            columns = reader.names()
        reader.require(")")
    else:
        start = reader.index
        expression = reader.parenthesised()
        columns = _single_column(reader, start)
    if reader.is_word("INTERVAL"):
        raise reader.fail("partitions that are named")
    partitions: tuple[Partition, ...] = ()
    subpartitioned = False
    if method in {"HASH", "KEY"}:
        count = reader.number() if reader.accept("PARTITIONS") else 1
        partitions = tuple(Partition(f"p{n}") for n in range(count))
    elif reader.accept("PARTITIONS"):
        reader.number()  # they are listed as well
    if reader.accept("SUBPARTITION", "BY"):
        subpartitioned = True
        _skip_subpartitioning(reader)
    if reader.is_words("(", "PARTITION"):
        partitions = read_partition_definitions(reader)
    # UPDATE INDEXES of TiDB makes indexes global or local.
    if reader.accept("UPDATE", "INDEXES"):
        reader.parenthesised()
    return Partitioning(
        method=f"{linear}{method.lower()}{' columns' if with_columns else ''}",
        expression=expression,
        columns=columns,
        partitions=partitions,
        subpartitioned=subpartitioned,
    )


def _by_system_time(reader: Reader) -> Partitioning:
    while not reader.at_end and not reader.is_words("(", "PARTITION"):
        reader.index += 1  # INTERVAL 1 MONTH, LIMIT 1000, AUTO, PARTITIONS 3
    partitions = () if reader.at_end else read_partition_definitions(reader)
    return Partitioning(method="system_time", partitions=partitions)


def _skip_subpartitioning(reader: Reader) -> None:
    while not reader.at_end and not reader.is_words("(", "PARTITION"):
        if reader.is_word("("):
            reader.parenthesised()
        else:
            reader.index += 1


def _single_column(reader: Reader, start: int) -> tuple[str, ...]:
    """Return the column if ``( ... )`` from `start` on holds just one name."""
    end = reader.index
    if end - start != 3:
        return ()
    reader.index = start + 1
    try:
        return (reader.name(),)
    except NotUnderstoodError:
        return ()
    finally:
        reader.index = end


def read_partition_definitions(reader: Reader) -> tuple[Partition, ...]:
    """Read partitions, in brackets."""
    reader.require("(")
    partitions = reader.listed(lambda: _partition_definition(reader))
    reader.require(")")
    return partitions


def _partition_definition(reader: Reader) -> Partition:
    reader.require("PARTITION")
    name = reader.name()
    less_than: tuple[SqlValue, ...] | None = None
    values_in: tuple[tuple[SqlValue, ...], ...] | None = None
    if reader.accept("VALUES", "LESS", "THAN"):
        less_than = _list_item(reader)
    elif reader.accept("VALUES", "IN"):
        reader.require("(")
        values_in = reader.listed(lambda: _list_item(reader))
        reader.require(")")
    elif reader.accept("DEFAULT"):
        values_in = ((SqlValue("expression", "DEFAULT"),),)
    reader.skip_clause()  # ENGINE, COMMENT, subpartitions, ...
    return Partition(name, less_than, values_in)


def _list_item(reader: Reader) -> tuple[SqlValue, ...]:
    return _bound_list(reader) if reader.is_word("(") else (_bound(reader),)


def _bound_list(reader: Reader) -> tuple[SqlValue, ...]:
    reader.require("(")
    bounds = reader.listed(lambda: _bound(reader))
    reader.require(")")
    return bounds


def _bound(reader: Reader) -> SqlValue:
    """Read one bound: a literal if nothing else follows it, or an expression."""
    start = reader.index
    value = read_value(reader)
    if reader.at_end or reader.is_any(",", ")") or value.form == "maxvalue":
        return value
    reader.index = start
    return SqlValue("expression", reader.skip_clause())
