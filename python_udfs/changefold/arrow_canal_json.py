"""Decode a batch of Canal-JSON messages into one Arrow struct array.

There are two ways, and they accept the same messages:

- `canal_json.read_canal_json` parses one message and checks everything.
- `_recognise` finds what nearly every message is: one row, in the layout of TiCDC's
  encoder, of a table that was seen before. It cuts and compares the messages of the
  batch together, many times faster. What it leaves, bad messages included, goes the
  other way.

Why the second accepts only what the first accepts. The layout cuts a message into
literal text and pieces. Each piece is by itself valid JSON of the right shape:

- the names of table and key (the head): their bytes are those of a head that was parsed
  strictly before (`_learn`);
- ``sqlType`` and ``mysqlType`` (the middle): their members are those of a middle that was
  parsed strictly before, each once, in any order (`_members`), as Go writes a map;
- the rows: they match a pattern made from the table's columns, which allows exactly
  these keys, once each, in this order, each followed by a JSON string or null;
- the numbers: digits without a leading zero, too few of them to exceed 64 bits.

So the whole is valid JSON, of the right shape, without a duplicate key, wherever it
happened to be cut. It is taken for granted that the message is valid UTF-8 without
control characters, which is checked for the whole batch at once.
"""

import re
from functools import lru_cache
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
from changefold.canal_json import CanalJsonMessage, is_binary, read_canal_json
from changefold.errors import CdcDecodeError
from changefold.message_batch import (
    LATIN1_TEXT,
    TEXT,
    Flags,
    MessageBatch,
    Places,
    form_length,
    part_pattern,
    row_pattern,
)
from changefold.strict_json import MAX_MESSAGE_BYTES, json_text, strict_object

__all__ = ["CANAL_JSON_TYPE", "parse_batch"]

_IMAGE_TYPE: Final = pa.struct(
    [
        pa.field("data", pa.string(), nullable=False),
        pa.field("old", pa.string()),
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
        pa.field("error", ERROR_TYPE),
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
    return decode_batch(values, CANAL_JSON_TYPE, _recognise, _read)


def _read(value: bytes | None) -> dict[str, Any]:
    message = read_canal_json(value)
    if value is not None and len(message.images) == 1:
        _learn(value, message)
    row = as_row(message)
    row["images"] = [image._asdict() for image in message.images]
    return row


# ------------------------------------------------------------- what is known


_SHARED: Final = (
    "source_database",
    "source_table",
    "event_type",
    "primary_key",
    "column_types",
)


class _Template(NamedTuple):
    """What messages with the same head and members share, and how to check their rows.

    Attributes:
        shared: The fields of `_SHARED`.
        row: RE2 pattern of a whole row.
        part: RE2 pattern of a row that may lack columns.
    """

    shared: tuple[str, str, str, str | None, str | None]
    row: str
    part: str


_Members = tuple[tuple[bytes, ...], ...]

# By the head, which is that of one table and event type, and the members of the middle.
_sources: Final = Sources[_Members, _Template]()

_START: Final = b'{"id":0,'
# Milliseconds have 13 digits between 2001 and 2286, a TSO has 18 between 1987 and 2090.
# A message with others is parsed.
_TIMES: Final = (b',"es":', 13, b',"ts":', 13)
_EXTENSION: Final = (b'],"_tidb":{"commitTs":', 18, b"}}")
_END: Final = b"]}"
_OLD: Final = b',"old":'

_LAYOUT: Final = re.compile(
    rb'\{"id":0,'
    rb'(?P<head>"database":"[^"]*+","table":"[^"]*+","pkNames":(?:null|\[[^\]]*+\]),'
    rb'"isDdl":false,"type":"(?:INSERT|UPDATE|DELETE)")'
    rb',"es":[0-9]++,"ts":[0-9]++'
    rb'(?P<middle>,"sql":"","sqlType":(?P<sql_types>\{[^}]*+\}),'
    rb'"mysqlType":(?P<mysql_types>\{[^}]*+\})),"old":'
    rb'(?:null|\[\{.*\}\]),"data":\[(?P<data>\{.*\})\](?:,"_tidb":\{[^}]*+\})?+\}',
    re.DOTALL,
)


def _learn(value: bytes, message: CanalJsonMessage) -> None:
    """Remember the head and the middle of a message that was parsed, if it has them."""
    match = _LAYOUT.fullmatch(value)
    if match is None:
        return
    head, members = match["head"], _members(match["middle"])
    if members is None or not _sources.is_worth_a_template(head, members):
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
    # Then a comma before a quote stands between two members only.
    if any(re.search(r'["\\]|,$', text) for item in types.items() for text in item):
        return
    names = {
        json_text(name).encode(): LATIN1_TEXT if is_binary(types[name]) else TEXT
        for name in columns
    }
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
    known = _sources.template(head, members)
    if known is None or known.row != template.row:
        _sources.learn(head, members, template, template.part)


_MIDDLE: Final = re.compile(
    rb',"sql":"","sqlType":\{([^}]*+)\},"mysqlType":\{([^}]*+)\}'
)


@lru_cache(maxsize=4096)
def _members(middle: bytes) -> _Members | None:
    """Return the members of both maps, whatever their order."""
    match = _MIDDLE.fullmatch(middle)
    if match is None:
        return None
    # The first member begins with a quote, the others where a comma and a quote were.
    return tuple(tuple(sorted(text[1:].split(b',"'))) for text in match.groups())


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

    found: list[RowCuts] = []
    templates: list[_Template] = []
    for places, known in _sources.among(batch, head, head_end, is_known):
        middle_end, ids = _find_templates(
            batch, middle[places], data_end[places], known, templates
        )
        for number in np.unique(ids[ids >= 0]):
            mine = ids == number
            if np.count_nonzero(mine) < WORTH_A_PATTERN:
                continue
            value = middle_end[mine] + len(_OLD)
            cuts = RowCuts(
                places[mine], ids[mine], value, value, value, data_end[places[mine]]
            )
            found.append(_cut_rows(batch, cuts, templates[number]))
    cuts = in_order(found)
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


def _find_templates(
    batch: MessageBatch,
    middle: Places,
    end: Places,
    known: dict[_Members, _Template],
    templates: list[_Template],
) -> tuple[Places, Places]:
    """Find the templates of messages with one head.

    Args:
        batch: The messages.
        middle: Where the middle of each begins.
        end: Where the row in ``data`` ends.
        known: The templates by members.
        templates: Those in use; grows.

    Returns:
        Where the middle of each ends, and its number in `templates`, or -1.
    """
    if not len(middle):
        return middle, middle
    # Most often all middles are like the first: then one comparison tells.
    first_end = batch.find(middle[:1], end[:1], _OLD)
    first = batch.cut(middle[:1], first_end)[0].as_py()
    middle_end = middle + len(first)
    others = np.arange(len(middle))
    # The comparison takes as much memory for each as the first one needs.
    if len(first) * len(middle) <= int((end - middle).sum()):
        others = np.flatnonzero(~batch.has(middle, end, first + _OLD))
    middle_end[others] = batch.find(middle[others], end[others], _OLD)
    texts = batch.cut(middle[others], middle_end[others]).dictionary_encode()
    numbers = []
    for text in [first, *texts.dictionary.to_pylist()]:
        members = _members(text)
        template = None if members is None else known.get(members)
        if template is not None and template not in templates:
            templates.append(template)
        numbers.append(-1 if template is None else templates.index(template))
    ids = np.full(len(middle), numbers[0])
    ids[others] = np.array(numbers[1:], np.int64)[texts.indices.to_numpy()]
    return middle_end, ids


def _cut_rows(batch: MessageBatch, cuts: RowCuts, template: _Template) -> RowCuts:
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
    fits = matches(batch.cut(cuts.data, cuts.data_end), template.row)
    if is_update:
        fits &= _matches_part(batch, cuts.old, cuts.old_end, template)
    return cuts.take(fits)


def _matches_part(
    batch: MessageBatch, starts: Places, ends: Places, template: _Template
) -> Flags:
    """Tell where there is a row with all or some of the columns."""
    rows = batch.cut(starts, ends)
    fits = matches(rows, template.row)
    if not fits.all():
        fits |= matches(rows, template.part) & batch.has(ends - 1, ends, b"}")
    return fits


def _to_arrow(
    batch: MessageBatch,
    cuts: RowCuts,
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
    arrays |= shared_columns(
        CANAL_JSON_TYPE, _SHARED, cuts, [template.shared for template in templates]
    )
    arrays["event_kind"] = pa.repeat("row", count)
    arrays["images"] = pa.ListArray.from_arrays(
        pa.array(np.arange(count + 1, dtype=np.int32)),
        images,
        type=CANAL_JSON_TYPE.field("images").type,
    )
    return struct_array(CANAL_JSON_TYPE, count, arrays)
