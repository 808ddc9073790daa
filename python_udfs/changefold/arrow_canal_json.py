"""Decode a batch of Canal-JSON messages into one Arrow struct array.

There are two ways, and they accept the same messages:

- `canal_json.read_canal_json` parses one message and checks everything.
- `_recognise` finds what nearly every message is: one row, in the layout of TiCDC's
  encoder, of a table that was seen before. It cuts and compares the messages of the
  batch together, many times faster. What it leaves, bad messages included, goes the
  other way.

Why the second accepts only what the first accepts. The layout cuts a message into
literal text and pieces. Each piece is by itself valid JSON of the right shape:

- the names of table and key (the head), ``sqlType`` and ``mysqlType`` (the middle):
  their bytes are those of a piece that was parsed strictly before (`_learn`);
- the rows: they match a pattern made from the table's columns, which allows exactly
  these keys, once each, in this order, each followed by a JSON string or null;
- the numbers: digits without a leading zero, too few of them to exceed 64 bits.

So the whole is valid JSON, of the right shape, without a duplicate key, wherever it
happened to be cut. It is taken for granted that the message is valid UTF-8 without
control characters, which is checked for the whole batch at once.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from changefold.canal_json import (
    MAX_MESSAGE_BYTES,
    CanalJsonMessage,
    is_binary,
    json_text,
    read_canal_json,
    strict_object,
)
from changefold.errors import CdcDecodeError
from changefold.message_batch import (
    MessageBatch,
    Places,
    form_length,
    part_pattern,
    row_pattern,
)

__all__ = ["CANAL_JSON_TYPE", "parse_batch"]

_IMAGE_TYPE: Final = pa.struct(
    [
        pa.field("data", pa.string(), nullable=False),
        pa.field("old", pa.string()),
    ]
)

_ERROR_TYPE: Final = pa.struct(
    [
        pa.field("class", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
    ]
)

CANAL_JSON_TYPE: Final = pa.struct(
    [
        pa.field("event_kind", pa.string(), nullable=False),
        pa.field("source_database", pa.string()),
        pa.field("source_table", pa.string()),
        pa.field("event_type", pa.string()),
        pa.field("commit_ts", pa.int64()),
        pa.field("watermark_ts", pa.int64()),
        pa.field("es_ms", pa.int64()),
        pa.field("ts_ms", pa.int64()),
        pa.field("ddl_sql", pa.string()),
        pa.field("primary_key", pa.string()),
        pa.field("column_types", pa.string()),
        pa.field(
            "images",
            pa.list_(pa.field("element", _IMAGE_TYPE, nullable=False)),
            nullable=False,
        ),
        pa.field("error", _ERROR_TYPE),
    ]
)
"""Type of what `parse_batch` returns; `CanalJsonMessage` describes the fields."""


def parse_batch(values: pa.Array) -> pa.StructArray:
    """Decode messages. A bad one becomes an ``invalid`` row, never an exception.

    Args:
        values: The values of Kafka records, of type binary or one that Arrow casts
            to it.

    Returns:
        One struct of type `CANAL_JSON_TYPE` per value, in the same order.
    """
    if values.type != pa.binary():
        values = values.cast(pa.binary())
    places, recognised = _recognise(values)
    others = np.ones(len(values), np.bool_)
    others[places] = False
    if not others.any():
        return recognised
    other_places = np.flatnonzero(others)
    rows = []
    for value in values.take(other_places).to_pylist():
        message = read_canal_json(value)
        if len(message.images) == 1:
            _learn(value, message)
        rows.append(_as_row(message))
    read = pa.array(rows, CANAL_JSON_TYPE)
    order = np.argsort(np.concatenate([places, other_places]))
    return pa.concat_arrays([recognised, read]).take(order)


def _as_row(message: CanalJsonMessage) -> dict[str, Any]:
    error = message.error
    row: dict[str, Any] = {
        name: getattr(message, name)
        for name in CANAL_JSON_TYPE.names
        if name not in {"images", "error"}
    }
    row["images"] = [image._asdict() for image in message.images]
    row["error"] = None
    if error is not None:
        row["error"] = {
            "class": error.error_class,
            "path": error.path,
            "message": error.message,
        }
    return row


# ------------------------------------------------------------- what is known


_SHARED: Final = (
    "source_database",
    "source_table",
    "event_type",
    "primary_key",
    "column_types",
)


@dataclass
class _Template:
    """What messages with the same head and middle share, and how to check their rows.

    Attributes:
        shared: The fields of `_SHARED`.
        row: RE2 pattern of a whole row.
        part: RE2 pattern of a row that may lack columns.
    """

    shared: tuple[str, str, str, str | None, str | None]
    row: str
    part: str


@dataclass
class _Source:
    """The messages with one head: of one table and one event type.

    Attributes:
        seen: Messages that were parsed one by one.
        templates: By the middle of the message.
    """

    seen: int = 0
    templates: dict[bytes, _Template] = field(default_factory=dict)


# A pattern is compiled for each batch: it takes as long as some messages one by one.
_WORTH_A_TEMPLATE: Final = 20
_WORTH_A_PATTERN: Final = 4
# Go writes a map of up to 8 members in one of 8 orders, a larger one in any.
_MAX_TEMPLATES: Final = 64
_MAX_SOURCES: Final = 10_000
_sources: Final[dict[bytes, _Source]] = {}

_START: Final = b'{"id":0,'
# Milliseconds have 13 digits between 2001 and 2286, a TSO has 18 between 1987 and 2090.
# A message with others is parsed.
_TIMES: Final = (b',"es":', 13, b',"ts":', 13)
_EXTENSION: Final = (b'],"_tidb":{"commitTs":', 18, b"}}")
_END: Final = b"]}"

_LAYOUT: Final = re.compile(
    rb'\{"id":0,'
    rb'(?P<head>"database":"[^"]*+","table":"[^"]*+","pkNames":(?:null|\[[^\]]*+\]),'
    rb'"isDdl":false,"type":"(?:INSERT|UPDATE|DELETE)")'
    rb',"es":[0-9]++,"ts":[0-9]++'
    rb'(?P<middle>,"sql":"","sqlType":(?P<sql_types>\{[^}]*+\}),'
    rb'"mysqlType":(?P<mysql_types>\{[^}]*+\}),"old":)'
    rb'(?:null|\[\{.*\}\]),"data":\[(?P<data>\{.*\})\](?:,"_tidb":\{[^}]*+\})?+\}',
    re.DOTALL,
)


def _learn(value: bytes, message: CanalJsonMessage) -> None:
    """Remember the head and the middle of a message that was parsed, if it has them."""
    match = _LAYOUT.fullmatch(value)
    if match is None:
        return
    head, middle = match["head"], match["middle"]
    if len(_sources) >= _MAX_SOURCES:
        _sources.clear()
    source = _sources.setdefault(head, _Source())
    source.seen += 1
    if source.seen < _WORTH_A_TEMPLATE:
        return
    try:
        # Each by itself: so the pattern cut the message where the fields end.
        fields = strict_object(b"{" + head + b"}", "$")
        types = strict_object(match["mysql_types"], "$.mysqlType")
        strict_object(match["sql_types"], "$.sqlType")
        columns = strict_object(match["data"], "$.data[0]")
    except CdcDecodeError:
        return
    if fields.keys() != {"database", "table", "pkNames", "isDdl", "type"}:
        return
    names = {json_text(name).encode(): is_binary(types[name]) for name in columns}
    template = _Template(
        shared=(
            str(message.source_database),
            str(message.source_table),
            str(message.event_type),
            message.primary_key,
            message.column_types,
        ),
        row=row_pattern(names),
        part=part_pattern(names),
    )
    known = source.templates.get(middle)
    if known is not None and known.row == template.row:
        return
    try:
        pc.match_substring_regex(pa.array([b""]), template.part)
    except pa.ArrowInvalid:  # more columns than a pattern can have
        return
    if len(source.templates) >= _MAX_TEMPLATES:
        source.templates.clear()
    source.templates[middle] = template


# ----------------------------------------------------------- how it is recognised


class _Cuts(NamedTuple):
    """Where the pieces of some messages lie; an array each.

    Attributes:
        rows: Which messages, by their place in the batch.
        template_ids: Which template each has.
        old: Where the row before begins; -1 if there is none.
        old_end: Where it ends, exclusive.
        data: Where the row begins.
        data_end: Where it ends, exclusive.
    """

    rows: Places
    template_ids: Places
    old: Places
    old_end: Places
    data: Places
    data_end: Places

    def take(self, chosen: np.ndarray[Any, Any]) -> "_Cuts":
        """Return the cuts of some of the messages: by places, or by flags."""
        return _Cuts(*(piece[chosen] for piece in self))


def _in_order(found: list[_Cuts]) -> _Cuts:
    """Put the cuts of all templates into the order of the messages."""
    none = _Cuts(*[np.empty(0, np.int64)] * len(_Cuts._fields))
    cuts = _Cuts(*(np.concatenate(pieces) for pieces in zip(none, *found, strict=True)))
    return cuts.take(np.argsort(cuts.rows))


def _recognise(values: pa.Array) -> tuple[Places, pa.StructArray]:
    """Decode the messages that look like others before.

    Returns:
        Their places in the batch, in any order, and a struct for each.
    """
    batch = MessageBatch(values)
    starts, ends = batch.starts, batch.ends
    is_open = batch.plain() & (ends - starts <= MAX_MESSAGE_BYTES)
    is_open &= batch.has(starts, ends, _START)
    rows = np.flatnonzero(is_open) if _sources else np.empty(0, np.int64)

    # {"id":0,HEAD,"es":1732199007000,"ts":1732199007123MIDDLE...
    end = ends[rows]
    head = starts[rows] + len(_START)
    head_end = batch.find(head, end, b',"es":')
    has_times, (es, ts) = batch.read(head_end, end, _TIMES)
    middle = head_end + form_length(_TIMES)

    # ...],"_tidb":{"commitTs":470617750322806784}} or ...]}
    with_extension = end - form_length(_EXTENSION)
    has_tso, (commit_ts,) = batch.read(with_extension, end, _EXTENSION)
    data_end = np.where(has_tso, with_extension, end - len(_END))
    is_known = has_times & (has_tso | batch.has(data_end, end, _END))

    heads = batch.cut(head, np.maximum(head_end, head)).dictionary_encode()
    head_ids = heads.indices.to_numpy(zero_copy_only=False)
    found: list[_Cuts] = []
    templates: list[_Template] = []
    for head_id, text in enumerate(heads.dictionary.to_pylist()):
        source = _sources.get(text)
        if source is None:
            continue
        left = np.flatnonzero(is_known & (head_ids == head_id))
        for middle_text, template in source.templates.items():
            fits = batch.has(middle[left], data_end[left], middle_text)
            mine, left = left[fits], left[~fits]
            if len(mine) < _WORTH_A_PATTERN:
                continue
            value = middle[mine] + len(middle_text)
            ids = np.full(len(mine), len(templates))
            cuts = _Cuts(mine, ids, value, value, value, data_end[mine])
            found.append(_cut_rows(batch, cuts, template))
            templates.append(template)
    cuts = _in_order(found)
    chosen = cuts.rows
    return rows[chosen], _to_arrow(
        batch,
        cuts,
        templates,
        {
            "commit_ts": pa.array(commit_ts[chosen], mask=~has_tso[chosen]),
            "es_ms": pa.array(es[chosen]),
            "ts_ms": pa.array(ts[chosen]),
        },
    )


def _cut_rows(batch: MessageBatch, cuts: _Cuts, template: _Template) -> _Cuts:
    """Cut out the rows of messages with one template; leave those that do not fit.

    Args:
        batch: The messages.
        cuts: ``old`` is where its value begins, ``data_end`` where the row in ``data``
            ends; the places between are not known yet.
        template: The template of the messages.
    """
    # null,"data":[ROW or [ROW],"data":[ROW
    start, end = cuts.old, cuts.data_end
    is_update = template.shared[2] == "UPDATE"
    separator = b'],"data":[' if is_update else b'null,"data":['
    split = batch.find(start, end, separator) if is_update else start
    fits = batch.has(split, end, separator)
    if is_update:
        fits &= batch.has(start, split, b"[")
    cuts = cuts._replace(
        old=start + 1 if is_update else np.full(len(start), -1),
        old_end=split,
        data=split + len(separator),
    ).take(fits)
    fits = _matches(batch.cut(cuts.data, cuts.data_end), template.row)
    if is_update:
        fits &= _matches_part(batch, cuts.old, cuts.old_end, template)
    return cuts.take(fits)


def _matches_part(
    batch: MessageBatch, starts: Places, ends: Places, template: _Template
) -> np.ndarray[Any, Any]:
    """Tell where there is a row with all or some of the columns."""
    rows = batch.cut(starts, ends)
    fits = _matches(rows, template.row)
    if not fits.all():
        fits |= _matches(rows, template.part) & batch.has(ends - 1, ends, b"}")
    return fits


def _matches(texts: pa.BinaryArray, pattern: str) -> np.ndarray[Any, Any]:
    found = pc.match_substring_regex(texts, pattern)
    flags: np.ndarray[Any, Any] = found.to_numpy(zero_copy_only=False)
    return flags.astype(np.bool_)


def _to_arrow(
    batch: MessageBatch,
    cuts: _Cuts,
    templates: list[_Template],
    arrays: dict[str, pa.Array],
) -> pa.StructArray:
    """Build the result; `arrays` has the columns of numbers."""
    count = len(cuts.rows)
    has_old = cuts.old >= 0
    images = pa.StructArray.from_arrays(
        [
            batch.cut(cuts.data, cuts.data_end).view(pa.string()),
            batch.cut(cuts.old, np.where(has_old, cuts.old_end, -1), has_old).view(
                pa.string()
            ),
        ],
        fields=list(_IMAGE_TYPE),
    )
    shared = [template.shared for template in templates]
    for name, column in zip(
        _SHARED, zip(*shared, strict=True) if shared else [()] * 5, strict=True
    ):
        arrays[name] = pa.array(column, pa.string()).take(pa.array(cuts.template_ids))
    arrays["event_kind"] = pa.repeat("row", count)
    arrays["images"] = pa.ListArray.from_arrays(
        pa.array(np.arange(count + 1, dtype=np.int32)),
        images,
        type=CANAL_JSON_TYPE.field("images").type,
    )
    return pa.StructArray.from_arrays(
        [
            arrays.get(field.name, pa.nulls(count, field.type))
            for field in CANAL_JSON_TYPE
        ],
        fields=list(CANAL_JSON_TYPE),
    )
