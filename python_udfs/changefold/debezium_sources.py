"""Where the changes of a batch come from and lie, in columns.

`debezium_positions` reads the position of one message; here those of messages whose
envelopes have the same members are read together. What is not as the connectors write
it is left to the other.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from changefold.connect_batches import BAD, NULL, NUMBER, TEXT, Tokens
from changefold.debezium import DebeziumMessage, read_source
from changefold.debezium_positions import read_position
from changefold.declared_types import table_name
from changefold.errors import CdcDecodeError
from changefold.json_documents import MAX_WINDOW, JsonBytes, Words
from changefold.json_layouts import Layout, Path
from changefold.message_batch import Flags, Places
from changefold.strict_json import MAX_MILLISECONDS, read_string, strict_tokens

__all__ = ["CONSTANTS", "SourceBatch"]

_SHARED: Final = (
    "connector",
    "source_name",
    "source_database",
    "source_schema",
    "source_table",
    "op",
    "snapshot",
    "is_snapshot",
    "ordered_by",
    "binlog_file",
)

# What decides these: few values in a batch.
_DECIDING: Final[tuple[Path, ...]] = (
    ("source", "connector"),
    ("source", "name"),
    ("source", "db"),
    ("source", "schema"),
    ("source", "table"),
    ("source", "snapshot"),
    ("source", "file"),
    ("op",),
)

CONSTANTS: Final[frozenset[Path]] = frozenset(
    ("source", name) for name in ("version", "connector", "name", "db", "schema")
)
"""Members of an envelope that most messages of a batch have in common."""

_PARENTS: Final[frozenset[Path]] = frozenset({(), ("source",), ("transaction",)})
_ROW_OPS: Final = frozenset({"c", "u", "d", "r"})
_ORDERED_BY: Final = {
    "sqlserver": "lsn",
    "postgresql": "lsn",
    "mysql": "binlog",
    "mariadb": "binlog",
    "TiCDC": "commit_ts",
}
_ZEROS: Final = np.uint64(0x3030303030303030)
_NO_LSN: Final = b"00000000:00000000:0000"
_HEXADECIMAL: Final = np.isin(np.arange(256), list(b"0123456789abcdef"))

Matrix = npt.NDArray[np.uint8]
"""Texts of one length, a row of bytes each."""


class _Lsns(NamedTuple):
    """LSNs of PostgreSQL within a text; an array each.

    Attributes:
        is_there: Where there is one.
        starts: Where its digits begin.
        ends: Where they end, exclusive.
        words: The digits, as `JsonDocuments.digits` gives them.
    """

    is_there: Flags
    starts: Places
    ends: Places
    words: Words


class SourceBatch:
    """The ends of envelopes, from ``source`` on, of messages with one layout.

    Attributes:
        valid: Which messages are changes or reads of rows with all that they need but
            the rows. The others must be read one by one.
        ops: By the message, its ``op`` as a byte; any where it is not valid.
        columns: Columns of the result, by their name.
    """

    def __init__(
        self,
        documents: JsonBytes,
        starts: Places,
        ends: Places,
        layout: Layout,
        tokens: Tokens,
    ) -> None:
        """Read the values.

        Args:
            documents: The documents.
            starts: Where the ends of the envelopes begin.
            ends: Where they end, exclusive.
            layout: Their layout.
            tokens: Their values, member by member.
        """
        self._documents = documents
        self._starts, self._ends = starts, ends
        self._shape = (len(layout.paths), len(starts))
        self._tokens = tokens
        self._kinds = tokens.kinds.reshape(self._shape)
        has_long_escape = tokens.has_long_escape.reshape(self._shape)
        self.valid: Flags = ~((self._kinds == BAD) | has_long_escape).any(axis=0)
        self.valid &= ~(self._kinds > NUMBER).any(axis=0)
        self.columns: dict[str, pa.Array] = {}
        self.ops = np.zeros(self._shape[1], np.uint8)
        self._messages = [DebeziumMessage()]
        self._ids: Places = np.zeros(self._shape[1], np.int64)
        self._members = {path: index for index, path in enumerate(layout.paths)}
        paths = {*layout.paths, *layout.constants}
        if (
            {path[0] for path in paths} & {"before", "after"}
            or not {path[:-1] for path in paths} <= _PARENTS
            or any(path[:-1] == ("transaction",) for path in layout.constants)
        ):
            self.valid[:] = False
            return
        self._read_shared()
        self._read_numbers()
        self._read_transaction()
        self._read_positions()

    def tables(self) -> tuple[list[tuple[str, str | None]], Places]:
        """Return tables and their connectors, and which of them each message has."""
        names = [
            (
                table_name(
                    message.source_database, message.source_schema, message.source_table
                ),
                message.connector,
            )
            for message in self._messages
        ]
        return names, self._ids

    # ------------------------------------------------------- what messages share

    def _read_shared(self) -> None:
        """Read what few values decide, once for each combination."""
        ids = np.zeros(self._shape[1], np.int64)
        for path in _DECIDING:
            member = self._members.get(path)
            if member is not None:
                numbers = self._numbered(self._row(member))
                # Renumbered, so that many members do not overflow.
                ids = _numbered(ids * (numbers.max(initial=0) + 1) + numbers)
        _, firsts, ids = np.unique(ids, return_index=True, return_inverse=True)
        messages = [self._shared(first) for first in firsts.tolist()]
        self.valid &= np.array([message is not None for message in messages])[ids]
        known = [message or DebeziumMessage() for message in messages]
        self._messages, self._ids = known, ids
        self.ops = np.array([ord(message.op or " ") for message in known], np.uint8)[
            ids
        ]
        taken = pa.array(ids)
        for name in _SHARED:
            values = [getattr(message, name) for message in known]
            type_ = pa.bool_() if name == "is_snapshot" else pa.string()
            self.columns[name] = (
                pa.repeat(pa.scalar(values[0], type_), len(ids))
                if len(set(values)) == 1
                else pa.array(values, type_).take(taken)
            )

    def _shared(self, place: int) -> DebeziumMessage | None:
        """Read one message; ``None`` if it is no valid change of a row."""
        message = DebeziumMessage()
        try:
            start, end = (
                int(self._starts[place]),
                int(self._ends[place]),
            )
            text = self._documents.data[start:end].tobytes()
            payload = strict_tokens(b"{" + text[1:])
            source = read_source(message, payload, "$")
            message.op = read_string(payload, "op")
            if message.op not in _ROW_OPS or not message.source_table:
                return None
            message.ordered_by = _ORDERED_BY.get(str(message.connector), "ts_ms")
            if message.ordered_by == "binlog":
                position = read_position(
                    {"pos": source.get("pos"), "file": source.get("file")},
                    "$.source",
                    connector="mysql",
                    stage="0",
                    missing="refuse",
                )
                message.binlog_file = position.binlog_file
                message.change_sequence = position.change_sequence
        except CdcDecodeError:
            return None
        return message

    def _numbered(self, tokens: Places) -> Places:
        """Number the texts of tokens: the same number where they are the same."""
        starts, ends = self._tokens.starts[tokens], self._tokens.ends[tokens]
        documents = self._documents
        first = documents.data[starts[0] : ends[0]].tobytes()
        if len(first) <= MAX_WINDOW:
            is_first = documents.has(starts, ends, first)
            if (is_first & (ends - starts == len(first))).all():
                return np.zeros(len(tokens), np.int64)
        if (ends - starts).max() <= 8:
            return _numbered(documents.short_words(starts, ends))
        return _numbered(self._tokens.cut(tokens))

    # -------------------------------------------------------------------- members

    def _row(self, member: int) -> Places:
        """Return the tokens of a member."""
        return np.arange(member * self._shape[1], (member + 1) * self._shape[1])

    def _integer(self, path: Path) -> tuple[Flags, npt.NDArray[np.int64]]:
        """Read a number.

        Returns:
            Where there is one, and the numbers.
        """
        count = self._shape[1]
        member = self._members.get(path)
        if member is None:
            return np.zeros(count, np.bool_), np.zeros(count, np.int64)
        kinds = self._kinds[member]
        _, valid, numbers = self._tokens.integers(self._row(member))
        has_number = kinds == NUMBER
        self.valid &= (has_number & valid & (numbers >= 0)) | (kinds == NULL)
        return has_number, numbers

    def _integer_digits(
        self, path: Path
    ) -> tuple[Flags, npt.NDArray[np.int64], Matrix]:
        """Read a number, and its 20 digits."""
        has_number, numbers = self._integer(path)
        member = self._members.get(path)
        if member is None:
            nothing = np.full((len(numbers), 20), ord("0"), np.uint8)
            return has_number, numbers, nothing
        words = self._tokens.digits(self._row(member))
        words[~has_number] = _ZEROS
        return has_number, numbers, _digits(words)

    def _text(self, path: Path) -> tuple[Flags, Places, Places]:
        """Find a text without escapes.

        Returns:
            Where there is one, and where it begins and ends, without the quotes.
        """
        count = self._shape[1]
        member = self._members.get(path)
        if member is None:
            return (
                np.zeros(count, np.bool_),
                np.zeros(count, np.int64),
                np.zeros(count, np.int64),
            )
        kinds = self._kinds[member]
        row = self._row(member)
        is_text = kinds == TEXT
        has_escape = self._tokens.has_escape[row]
        self.valid &= (is_text & ~has_escape) | (kinds == NULL)
        return is_text, self._tokens.starts[row] + 1, self._tokens.ends[row] - 1

    def _cut(self, starts: Places, ends: Places, valid: Flags) -> pa.StringArray:
        return self._documents.cut(starts, np.where(valid, ends, starts), valid).view(
            pa.string()
        )

    def _read_numbers(self) -> None:
        for name, path in (
            ("source_ts_ms", ("source", "ts_ms")),
            ("ts_ms", ("ts_ms",)),
        ):
            has_number, numbers = self._integer(path)
            if name == "source_ts_ms":
                self.valid &= numbers <= MAX_MILLISECONDS
            self.columns[name] = pa.array(numbers, mask=~has_number)

    def _read_transaction(self) -> None:
        if ("transaction", "id") in self._members:
            has_id, starts, ends = self._text(("transaction", "id"))
            self.valid &= has_id
            self.columns["transaction_id"] = self._cut(starts, ends, has_id)
            has_order, orders = self._integer(("transaction", "total_order"))
            self.columns["transaction_order"] = pa.array(orders, mask=~has_order)
            return
        if any(path[0] == "transaction" for path in self._members):
            member = self._members.get(("transaction",))
            if member is None:
                self.valid[:] = False
                return
            self.valid &= self._kinds[member] == NULL
        member = self._members.get(("source", "txId"))
        if member is None:
            return
        row = self._row(member)
        kinds = self._kinds[member]
        has_id = kinds != NULL
        is_number = kinds == NUMBER
        starts, ends = self._tokens.starts[row], self._tokens.ends[row]
        if not is_number[has_id].all():
            _, inner_starts, inner_ends = self._text(("source", "txId"))
            starts = np.where(is_number, starts, inner_starts)
            ends = np.where(is_number, ends, inner_ends)
        self.columns["transaction_id"] = self._cut(starts, ends, has_id)

    # ------------------------------------------------------------------ positions

    def _read_positions(self) -> None:
        """Read the positions; all messages but those of one connector are left."""
        connector = str(self._messages[0].connector)
        is_other = [str(message.connector) != connector for message in self._messages]
        self.valid &= ~np.array(is_other)[self._ids]
        is_read = np.array(
            [message.op == "r" or message.is_snapshot for message in self._messages]
        )[self._ids]
        is_incremental = np.array(
            [message.snapshot == "incremental" for message in self._messages]
        )[self._ids]
        stages = np.where(is_read & ~is_incremental, ord("0"), ord("1"))
        stage = stages.astype(np.uint8)[:, None]
        read = _CONNECTORS.get(connector, SourceBatch._by_time)
        parts = read(self, is_read, stage)
        self.columns["change_sequence"] = _texts(parts, self._shape[1])

    def _sqlserver(self, is_read: Flags, stage: Matrix) -> list[Matrix | bytes]:
        lsns = []
        for name, column in (("commit_lsn", "commit_lsn"), ("change_lsn", "lsn")):
            has_lsn, starts, ends = self._text(("source", name))
            texts = self._documents.pieces(starts, 24).view(np.uint8)[:, :22]
            texts = np.ascontiguousarray(texts)
            texts[~has_lsn] = np.frombuffer(_NO_LSN, np.uint8)
            is_lsn = ends - starts == 22
            is_lsn &= (texts[:, [8, 17]] == ord(":")).all(axis=1)
            is_digit = _HEXADECIMAL.take(texts)
            is_digit[:, [8, 17]] = True
            is_lsn &= is_digit.all(axis=1)
            self.valid &= np.where(has_lsn, is_lsn, is_read)
            self.columns[column] = self._cut(starts, ends, has_lsn)
            lsns.append(texts)
        has_serial, serials, digits = self._integer_digits(
            ("source", "event_serial_no")
        )
        self.columns["event_serial_no"] = pa.array(serials, mask=~has_serial)
        return [lsns[0], b".", stage, b".", lsns[1], b".", digits]

    def _postgresql(self, is_read: Flags, stage: Matrix) -> list[Matrix | bytes]:
        has_lsn, _, digits = self._integer_digits(("source", "lsn"))
        first, second = self._sequence()
        # An incremental snapshot has no LSN of its own.
        digits = np.where(has_lsn[:, None], digits, _digits(second.words))
        member = self._members.get(("source", "lsn"))
        starts, ends = second.starts, second.ends
        if member is not None:
            row = self._row(member)
            starts = np.where(has_lsn, self._tokens.starts[row], starts)
            ends = np.where(has_lsn, self._tokens.ends[row], ends)
        has_lsn |= second.is_there
        self.valid &= has_lsn
        is_change = stage[:, 0] == ord("1")
        before = np.where(
            (first.is_there & is_change)[:, None], _digits(first.words), digits
        )
        self.columns["commit_lsn"] = self._cut(first.starts, first.ends, first.is_there)
        self.columns["lsn"] = self._cut(starts, ends, has_lsn)
        return [before, b".", stage, b".", digits]

    def _sequence(self) -> tuple["_Lsns", "_Lsns"]:
        """Read the LSN of the commit before and that of the change."""
        member = self._members.get(("source", "sequence"))
        if member is None:
            nowhere = np.zeros(self._shape[1], np.bool_)
            return self._lsns(nowhere, None, None), self._lsns(nowhere, None, None)
        row = self._row(member)
        starts, ends = self._tokens.starts[row], self._tokens.ends[row]
        documents = self._documents
        # "[\"204651104\",\"204654000\"]" or "[null,\"204654000\"]"
        escapes = np.append(documents.escapes, documents.ends[-1])
        first = np.searchsorted(documents.escapes, starts)
        marks = [escapes[np.minimum(first + at, len(escapes) - 1)] for at in range(4)]
        is_pair = (marks[0] == starts + 2) & (marks[2] == marks[1] + 3)
        is_pair &= documents.has(starts, ends, b'"[\\"')
        is_pair &= documents.has(marks[1], ends, b'\\",\\"')
        is_pair &= marks[3] == ends - 4
        is_single = documents.has(starts, ends, b'"[null,\\"') & ~is_pair
        is_single &= (marks[0] == starts + 7) & (marks[1] == ends - 4)
        is_read = is_pair | is_single
        is_read &= documents.has(ends - 4, ends, b'\\"]"')
        self.valid &= is_read | (self._kinds[member] == NULL)
        return (
            self._lsns(is_pair & is_read, starts + 4, marks[1]),
            self._lsns(is_read, np.where(is_pair, marks[2], marks[0]) + 2, ends - 4),
        )

    def _lsns(
        self, is_there: Flags, starts: Places | None, ends: Places | None
    ) -> "_Lsns":
        """Read the digits of LSNs."""
        nowhere = np.full(len(is_there), MAX_WINDOW)
        starts = nowhere if starts is None else np.where(is_there, starts, nowhere)
        ends = nowhere if ends is None else np.where(is_there, ends, nowhere)
        integers = self._documents.integers(starts, ends)
        self.valid &= ~is_there | (integers.valid & (integers.numbers >= 0))
        words = self._documents.digits(starts, ends)
        words[~is_there] = _ZEROS
        return _Lsns(is_there, starts, ends, words)

    def _mysql(self, is_read: Flags, stage: Matrix) -> list[Matrix | bytes]:
        has_pos, pos, digits = self._integer_digits(("source", "pos"))
        has_row, rows, row_digits = self._integer_digits(("source", "row"))
        has_gtid, starts, ends = self._text(("source", "gtid"))
        self.valid &= has_pos & (rows < 10**10)
        self.columns["binlog_pos"] = pa.array(pos, mask=~has_pos)
        self.columns["binlog_row"] = pa.array(rows, mask=~has_row)
        self.columns["gtid"] = self._cut(starts, ends, has_gtid)
        files = [message.change_sequence or "" for message in self._messages]
        numbers = b"".join(file[:10].rjust(10).encode() for file in files)
        file_digits = np.frombuffer(numbers, np.uint8).reshape(len(files), 10)
        return [
            *(file_digits[self._ids], b".", digits),
            *(b".", stage, b".", row_digits[:, 10:]),
        ]

    def _ticdc(self, is_read: Flags, stage: Matrix) -> list[Matrix | bytes]:
        has_commit_ts, commit_ts, digits = self._integer_digits(("source", "commit_ts"))
        self.valid &= has_commit_ts
        self.columns["commit_ts"] = pa.array(commit_ts, mask=~has_commit_ts)
        return [digits]

    def _by_time(self, is_read: Flags, stage: Matrix) -> list[Matrix | bytes]:
        has_time, _, digits = self._integer_digits(("source", "ts_ms"))
        self.valid &= has_time
        return [digits, b".", stage]


_CONNECTORS: Final[
    dict[str, Callable[[SourceBatch, Flags, Matrix], list[Matrix | bytes]]]
] = {
    "sqlserver": SourceBatch._sqlserver,
    "postgresql": SourceBatch._postgresql,
    "mysql": SourceBatch._mysql,
    "mariadb": SourceBatch._mysql,
    "TiCDC": SourceBatch._ticdc,
}
"""Each returns the parts of `change_sequence`, and fills in its columns."""


def _numbered(values: pa.Array | npt.NDArray[Any]) -> Places:
    ids: Places = pa.array(values).dictionary_encode().indices.to_numpy()
    return ids.astype(np.int64)


def _digits(words: Words) -> Matrix:
    return np.ascontiguousarray(words).view(np.uint8).reshape(-1, 24)[:, 4:]


def _texts(parts: list[Matrix | bytes], count: int) -> pa.StringArray:
    """Join parts of one length each."""
    pieces = [
        np.broadcast_to(np.frombuffer(part, np.uint8), (count, len(part)))
        if isinstance(part, bytes)
        else part
        for part in parts
    ]
    joined = np.ascontiguousarray(np.concatenate(pieces, axis=1))
    bounds = np.arange(count + 1, dtype=np.int32) * joined.shape[1]
    return pa.StringArray.from_buffers(
        count, pa.py_buffer(bounds), pa.py_buffer(joined)
    )
