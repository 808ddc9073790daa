"""Decode a batch of messages of the Simple protocol into one Arrow struct array.

As in `arrow_canal_json` there are two ways for the JSON encoding, and they accept the
same messages: `simple.read_simple` parses one message and checks everything;
`_recognise` finds the row messages in the layout of TiCDC's encoder, of a table and
schema version that was seen before, and cuts them together. What it leaves goes the
other way.

Why the second accepts only what the first accepts. The layout cuts a message into
literal text and pieces. Each piece is by itself valid JSON of the right shape:

- the names of database and table, the table's id and the type (the head): their bytes
  are those of a piece that was parsed strictly before (`_learn`);
- the numbers: digits without a leading zero, too few of them to exceed 64 bits;
- the images: they match a pattern made from the columns of that schema version, which
  allows exactly these keys, once each, in this order, each followed by a JSON string,
  null, or a timestamp with its location.

The columns of a schema version need not be right, only in use: they are those of a row
that was parsed, and a row with others is parsed as well.

Avro has no such second way: in its binary encoding, nothing stands at a known place.
"""

import re
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from changefold.batch_decoder import (
    ERROR_TYPE,
    WORTH_A_PATTERN,
    RowCuts,
    Sources,
    as_row,
    decode_batch,
    in_order,
    matches,
    shared_columns,
    struct_array,
)
from changefold.errors import CdcDecodeError
from changefold.message_batch import (
    TEXT,
    Flags,
    MessageBatch,
    Places,
    form_length,
    row_pattern,
)
from changefold.simple import ROW_IMAGES, SimpleMessage, read_simple
from changefold.simple_avro import read_simple_avro
from changefold.strict_json import MAX_MESSAGE_BYTES, json_text, strict_object

__all__ = ["SIMPLE_TYPE", "parse_avro_batch", "parse_batch"]

SIMPLE_TYPE: Final = pa.struct(
    [
        pa.field("event_kind", pa.string(), nullable=False),
        pa.field("source_database", pa.string()),
        pa.field("source_table", pa.string()),
        pa.field("event_type", pa.string()),
        pa.field("commit_ts", pa.int64()),
        pa.field("watermark_ts", pa.int64()),
        pa.field("build_ts_ms", pa.int64()),
        pa.field("schema_version", pa.int64()),
        pa.field("table_id", pa.int64()),
        pa.field("ddl_sql", pa.string()),
        pa.field("table_schema", pa.string()),
        pa.field("pre_table_schema", pa.string()),
        pa.field("data", pa.string()),
        pa.field("old", pa.string()),
        pa.field("error", ERROR_TYPE),
    ]
)
"""Type of what the functions here return; `SimpleMessage` describes the fields."""


def parse_batch(values: pa.Array) -> pa.StructArray:
    """Decode messages in JSON. A bad one becomes an ``invalid`` row, never an exception.

    Args:
        values: The values of Kafka records, of type binary or one that Arrow casts
            to it.

    Returns:
        One struct of type `SIMPLE_TYPE` per value, in the same order.
    """
    return decode_batch(values, SIMPLE_TYPE, _recognise, _read)


def parse_avro_batch(values: pa.Array) -> pa.StructArray:
    """Decode messages in Avro, otherwise as `parse_batch`."""
    if values.type != pa.binary():
        values = values.cast(pa.binary())
    rows = [as_row(read_simple_avro(value)) for value in values.to_pylist()]
    return pa.array(rows, SIMPLE_TYPE)


def _read(value: bytes | None) -> dict[str, Any]:
    message = read_simple(value)
    if value is not None and message.event_kind == "row":
        _learn(value, message)
    return as_row(message)


# ------------------------------------------------------------- what is known


_SHARED: Final = ("source_database", "source_table", "event_type", "table_id")


class _Template(NamedTuple):
    """What messages with the same head and schema version share.

    Attributes:
        shared: The fields of `_SHARED`.
        images: Which images the messages have.
        row: RE2 pattern of an image.
    """

    shared: tuple[object, ...]
    images: tuple[str, ...]
    row: str


# By the head, which is that of one table and event type, and the schema version.
_sources: Final = Sources[int | None, _Template]()

_START: Final = b'{"version":1,'
# Milliseconds have 13 digits between 2001 and 2286, a TSO has 18 between 1987 and 2090.
# A message with others is parsed.
_NUMBERS: Final = (
    *(b',"commitTs":', 18),
    *(b',"buildTs":', 13),
    *(b',"schemaVersion":', 18),
)
_DATA: Final = b',"data":'
_OLD: Final = b',"old":'
_END: Final = b"}"

_LAYOUT: Final = re.compile(
    rb'\{"version":1,'
    rb'(?P<head>"database":"[^"]*+","table":"[^"]*+","tableID":[0-9]++,'
    rb'"type":"(?:INSERT|UPDATE|DELETE)")'
    rb',"commitTs":[0-9]++,"buildTs":[0-9]++,"schemaVersion":[0-9]++,'
    rb'"(?:data|old)":\{.*\}\}',
    re.DOTALL,
)

_PLAIN_TEXT: Final = r'"[^"\\]*"'
_TIMESTAMP: Final = rf'\{{"location":{_PLAIN_TEXT},"value":{_PLAIN_TEXT}\}}'
_VALUE: Final = f"(?:{TEXT}|{_TIMESTAMP})"


def _learn(value: bytes, message: SimpleMessage) -> None:
    """Remember the head and the columns of a row message that was parsed."""
    match = _LAYOUT.fullmatch(value)
    if match is None:
        return
    head, version = match["head"], message.schema_version
    if not _sources.is_worth_a_template(head, version):
        return
    try:
        # By itself: so the pattern cut the message where the fields end.
        fields = strict_object(b"{" + head + b"}", "$")
    except CdcDecodeError:
        return
    if fields.keys() != {"database", "table", "tableID", "type"}:
        return
    image = message.data if message.old is None else message.old
    columns = strict_object(str(image).encode(), "$")
    template = _Template(
        shared=tuple(getattr(message, name) for name in _SHARED),
        images=ROW_IMAGES[fields["type"]],
        row=row_pattern({json_text(name).encode(): _VALUE for name in columns}),
    )
    if _sources.template(head, version) != template:
        _sources.learn(head, version, template, template.row)


# ----------------------------------------------------------- how it is recognised


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

    # {"version":1,HEAD,"commitTs":470617750322806784,"buildTs":1732199007123,...
    head = starts[rows] + len(_START)
    body_end = ends[rows] - len(_END)
    head_end = batch.find(head, body_end, b',"commitTs":')
    has_numbers, numbers = batch.read(head_end, body_end, _NUMBERS)
    commit_ts, build_ts, schema_version = numbers
    body = head_end + form_length(_NUMBERS)
    is_known = has_numbers & batch.has(body_end, ends[rows], _END)

    found: list[RowCuts] = []
    templates: list[_Template] = []
    for places, known in _sources.among(batch, head, head_end, is_known):
        left = places
        for version, template in known.items():
            fits = schema_version[left] == version
            mine, left = left[fits], left[~fits]
            if len(mine) < WORTH_A_PATTERN:
                continue
            ids = np.full(len(mine), len(templates))
            nowhere = np.full(len(mine), -1)
            cuts = RowCuts(mine, ids, nowhere, nowhere, body[mine], body_end[mine])
            found.append(_cut_images(batch, cuts, template))
            templates.append(template)
    cuts = _matching(batch, in_order(found), templates)
    chosen = cuts.rows
    arrays = shared_columns(
        SIMPLE_TYPE, _SHARED, cuts, [template.shared for template in templates]
    )
    return rows[chosen], struct_array(
        SIMPLE_TYPE,
        len(chosen),
        arrays
        | {
            "event_kind": pa.repeat("row", len(chosen)),
            "commit_ts": pa.array(commit_ts[chosen]),
            "build_ts_ms": pa.array(build_ts[chosen]),
            "schema_version": pa.array(schema_version[chosen]),
            "data": _cut_texts(batch, cuts.data, cuts.data_end),
            "old": _cut_texts(batch, cuts.old, cuts.old_end),
        },
    )


def _cut_images(batch: MessageBatch, cuts: RowCuts, template: _Template) -> RowCuts:
    """Find the images of messages with one template; leave out where they are not.

    Args:
        batch: The messages.
        cuts: ``data`` to ``data_end`` is the text that has the images.
        template: The template of the messages.
    """
    # ,"data":IMAGE or ,"data":IMAGE,"old":IMAGE or ,"old":IMAGE
    start, end = cuts.data, cuts.data_end
    label = _DATA if "data" in template.images else _OLD
    fits = batch.has(start, end, label)
    first = start + len(label)
    if template.images == ("data",):
        cuts = cuts._replace(data=first)
    elif template.images == ("old",):
        cuts = cuts._replace(data=cuts.old, data_end=cuts.old, old=first, old_end=end)
    else:
        # The first image ends with the brace before the label of the second one.
        split = batch.find(first, end, b"}" + _OLD + b"{") + len(_END)
        fits &= split > 0
        cuts = cuts._replace(
            data=first, data_end=split, old=split + len(_OLD), old_end=end
        )
    return cuts.take(fits)


def _matching(
    batch: MessageBatch, cuts: RowCuts, templates: list[_Template]
) -> RowCuts:
    """Leave out the messages with an image that is not as its template says.

    Templates with equal patterns, as those of INSERT and UPDATE of one table, take
    turns together: to compile a pattern takes as long as to match some 1000 images.
    """
    ids: dict[str, list[int]] = {}
    for number, template in enumerate(templates):
        ids.setdefault(template.row, []).append(number)
    fits = np.ones(len(cuts.rows), np.bool_)
    for pattern, numbers in ids.items():
        mine = np.flatnonzero(np.isin(cuts.template_ids, numbers))
        starts = np.concatenate([cuts.data[mine], cuts.old[mine]])
        ends = np.concatenate([cuts.data_end[mine], cuts.old_end[mine]])
        has_image = starts >= 0
        images = batch.cut(starts[has_image], ends[has_image])
        is_good = np.ones(len(starts), np.bool_)
        is_good[has_image] = matches(images, pattern)
        fits[mine] = is_good[: len(mine)] & is_good[len(mine) :]
    return cuts.take(fits)


def _cut_texts(batch: MessageBatch, starts: Places, ends: Places) -> pa.StringArray:
    """Cut out images; null where there is none."""
    has_image: Flags = starts >= 0
    return batch.cut(starts, ends, has_image).view(pa.string())
