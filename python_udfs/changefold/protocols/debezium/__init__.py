"""Decode one message of Debezium, as Kafka Connect's JSON converter writes it.

With or without the ``schema`` part. With it, every value becomes the one text of its
logical type that `connect.values` describes. Without, numbers and texts stay as they
came, unless the types of the table's columns were declared (`connect.declared`).

What the kinds of message are:

- ``row``: a change or a read of a row, `op` ``c``, ``u``, ``d`` or ``r``.
- ``truncate``: `op` ``t``: all rows of the table are gone.
- ``tombstone``: a key without a value. The delete came before it, so it changes nothing,
  except in a compacted topic: there it may be all that is left of the delete.
- ``ddl``: a message of the schema change topic.
- ``watermark``: TiCDC's `op` ``m``: every change below `watermark_ts` was sent.
- ``message``: `op` ``m`` of PostgreSQL, what ``pg_logical_emit_message`` wrote.
- ``transaction``: BEGIN or END of the transaction topic.
- ``heartbeat``: the connector lives.
- ``notification``: what a connector did, in the topic of its notifications.
- ``signal``: what somebody asked a connector for, in the topic of its signals.
- ``invalid``: none of these, with the reason.

The key of a message is that of the row's table. Its columns that the row leaves out
become columns of the row. What can not be read (a text of the string converter, a bare
number) does not make a readable change invalid: its columns are those that the text names
beyond doubt, else those that the topic declares, else none, and `error` tells that.

Changes of rows that many messages of a batch are like are read together (`changes`). All
else is read by the strict reader (`reader`), which tells what is wrong.
"""

import pyarrow as pa

from changefold.errors import CdcDecodeError
from changefold.protocols.batch import Piece, binaries, columns_of, join_pieces
from changefold.protocols.debezium.changes import read_changes
from changefold.protocols.debezium.declared import Declared, read_declared
from changefold.protocols.debezium.message import (
    DEBEZIUM_TYPE,
    DebeziumMessage,
    EventKind,
)
from changefold.protocols.debezium.reader import fill_message

__all__ = [
    "DEBEZIUM_TYPE",
    "DebeziumMessage",
    "EventKind",
    "decode_debezium",
    "parse_batch",
    "read_debezium",
]


def parse_batch(
    keys: pa.Array,
    values: pa.Array,
    types: pa.Array | None = None,
    options: pa.Array | None = None,
) -> pa.StructArray:
    """Decode messages. A bad one becomes an ``invalid`` row, never an exception.

    Args:
        keys: The keys of Kafka records, of type binary or one that Arrow casts to it.
        values: Their values, of such a type too.
        types: The declared types, as in `read_debezium`: most often one text for all.
        options: The declared options, likewise.

    Returns:
        One struct of type `DEBEZIUM_TYPE` per record, in the same order.

    Raises:
        ValueError: If the declared types or options are wrong.
    """
    messages = list(zip(binaries(keys), binaries(values), strict=True))
    pieces = []
    for (text, option), places in _by_declaration(types, options, len(values)).items():
        declared = read_declared(text, option)
        mine = [messages[place] for place in places]
        left = set(places)
        for piece in read_changes(places, mine, declared):
            left.difference_update(piece.places)
            pieces.append(piece)
        others = sorted(left)
        read = [_read(*messages[place], declared) for place in others]
        pieces.append(Piece(others, dict(columns_of(read, DEBEZIUM_TYPE))))
    return join_pieces(pieces, DEBEZIUM_TYPE)


def _by_declaration(
    types: pa.Array | None, options: pa.Array | None, count: int
) -> dict[tuple[str | None, str | None], list[int]]:
    """Return the places of messages by what their topics declare."""
    arrays = [
        (pa.nulls(count) if texts is None else texts).cast(pa.string())
        for texts in (types, options)
    ]
    if all(array.null_count == count for array in arrays):
        return {(None, None): list(range(count))}
    columns = [array.to_pylist() for array in arrays]
    found: dict[tuple[str | None, str | None], list[int]] = {}
    for place, declared in enumerate(zip(*columns, strict=True)):
        found.setdefault(declared, []).append(place)
    return found


def decode_debezium(
    key: bytes | None,
    value: bytes | None,
    types: str | None = None,
    options: str | None = None,
) -> DebeziumMessage:
    """Decode one message.

    Args:
        key: The key of the Kafka record.
        value: Its value.
        types: As in `read_debezium`.
        options: As in `read_debezium`.

    Returns:
        The message; never one of kind ``invalid``.

    Raises:
        CdcDecodeError: If the message is not what Debezium documents.
        ValueError: As in `read_debezium`.
    """
    message = read_debezium(key, value, types, options)
    if message.error is not None and message.event_kind == "invalid":
        raise message.error
    return message


def read_debezium(
    key: bytes | None,
    value: bytes | None,
    types: str | None = None,
    options: str | None = None,
) -> DebeziumMessage:
    """Decode one message, whatever it is.

    Args:
        key: The key of the Kafka record.
        value: Its value.
        types: The types of the columns of all tables, for messages that do not say,
            see `connect.declared`. A column that is missing there stays as it came.
        options: What the topic declares beside them, see `connect.declared.Options`.

    Returns:
        The message; of kind ``invalid``, with its error, if it is not what Debezium
        documents.

    Raises:
        ValueError: If the declared types or options are wrong, whatever the message.
    """
    return _read(key, value, read_declared(types, options))


def _read(
    key: bytes | None, value: bytes | None, declared: Declared
) -> DebeziumMessage:
    message = DebeziumMessage()
    try:
        message.event_kind = fill_message(message, key, value, declared)
    except CdcDecodeError as error:
        message.error = error.by_itself()
    return message
