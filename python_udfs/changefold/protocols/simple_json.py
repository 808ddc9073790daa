"""Decode one message of TiCDC's Simple protocol, in its JSON encoding.

Nearly every message is a row in a form that msgspec reads into a struct (`_read_row`).
The strict reader reads the others, schemas among them, and what is wrong, to tell exactly
what and where (`_read_strictly`). `simple_avro` reads the Avro encoding of the same
messages.

A row message has no types: what its values mean stands in the schema of its table, which
a DDL or BOOTSTRAP message delivers. Schemas come out in one form, whichever encoding
they came in. Where the encodings differ, or are wrong (seen in TiCDC v9.0.0-beta.1),
that form has what both agree on:

- JSON writes 0 and false as nothing, Avro mostly writes them: both are null here, and so
  is -1, which stands for "not declared".
- Avro leaves out how many digits a time has behind the second: its length tells.
- Whether an index is nullable is looked up by TiCDC in a wrong order of the columns once
  one of them was added with FIRST or AFTER: it is read from the columns themselves.
"""

from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
import pyarrow as pa
from msgspec import Raw

from changefold.errors import CdcDecodeError
from changefold.json.encode import json_text, member_path, shorten
from changefold.json.fields import (
    MAX_INT64,
    MAX_MILLISECONDS,
    MAX_NAME_LENGTH,
    Json,
    check_column_name,
    missing,
    read_bool,
    read_int64,
    read_milliseconds,
    read_string,
    required,
    wrong_type,
)
from changefold.json.parse import MAX_MESSAGE_BYTES, has_members, strict_object
from changefold.mysql.types import parse_mysql_type
from changefold.protocols.batch import binaries, struct_array, struct_type
from changefold.protocols.compression import JSON_START, decompress
from changefold.protocols.large_messages import require_full_row

__all__ = [
    "DDL_TYPES",
    "ROW_IMAGES",
    "SIMPLE_TYPE",
    "EventKind",
    "SimpleMessage",
    "parse_batch",
    "read_fields",
    "read_simple",
    "require_images",
]

EventKind = Literal["row", "ddl", "watermark", "bootstrap", "invalid"]

DDL_TYPES: Final = frozenset(
    {
        "CREATE",
        "RENAME",
        "CINDEX",
        "DINDEX",
        "ERASE",
        "TRUNCATE",
        "ALTER",
        "QUERY",
    }
)
"""``type`` of a DDL message."""

ROW_IMAGES: Final = {
    "INSERT": ("data",),
    "UPDATE": ("data", "old"),
    "DELETE": ("old",),
}
"""``type`` of a row message, and which images it has."""

_VERSION: Final = 1
_MAX_UINT64: Final = 2**64 - 1

# Length of a time without digits behind the second (TiDB: MaxDatetimeWidthNoFsp,
# MaxDurationWidthNoFsp); the point counts as one more.
_TIME_LENGTHS: Final = {"datetime": 19, "timestamp": 19, "time": 10}


class SimpleMessage(msgspec.Struct):
    """One message of the Simple protocol, its row images still JSON text.

    The table of a DDL is that of ``tableSchema``, or of ``preTableSchema`` where there
    is only that.

    Attributes:
        event_kind: What the message is; ``invalid`` with an `error`.
        source_database: Database of the table; ``""`` in a watermark and in a DDL
            without a table.
        source_table: The table; ``""`` like the database.
        event_type: ``type``: ``INSERT``, ``ALTER``, ``WATERMARK``.
        commit_ts: ``commitTs`` of a row or DDL. That of a BOOTSTRAP means nothing.
        watermark_ts: ``commitTs`` of a watermark.
        build_ts_ms: ``buildTs``, when the message was made, in milliseconds since 1970.
        schema_version: ``schemaVersion`` of a row, ``version`` of a table's schema.
        table_id: ``tableID``; in a row of a partitioned table that of the partition.
        ddl_sql: ``sql`` of a DDL.
        table_schema: JSON text of ``tableSchema``, of a DDL or BOOTSTRAP, in the form
            that the module describes.
        pre_table_schema: The same of ``preTableSchema``, of a DDL.
        data: JSON text of ``data`` of a row, byte for byte as in the message.
        old: The same of ``old``.
        error: Why the message is invalid. The other fields then hold what could be
            read.
    """

    event_kind: EventKind = "invalid"
    source_database: str | None = None
    source_table: str | None = None
    event_type: str | None = None
    commit_ts: int | None = None
    watermark_ts: int | None = None
    build_ts_ms: int | None = None
    schema_version: int | None = None
    table_id: int | None = None
    ddl_sql: str | None = None
    table_schema: str | None = None
    pre_table_schema: str | None = None
    data: str | None = None
    old: str | None = None
    error: CdcDecodeError | None = None


SIMPLE_TYPE: Final = struct_type(SimpleMessage)
"""Type of what `parse_batch` returns; `SimpleMessage` describes the fields."""


def parse_batch(values: pa.Array) -> pa.StructArray:
    """Decode messages. A bad one becomes an ``invalid`` row, never an exception.

    Args:
        values: The values of Kafka records, of type binary or one that Arrow casts
            to it.

    Returns:
        One struct of type `SIMPLE_TYPE` per value, in the same order.
    """
    return struct_array([read_simple(value) for value in binaries(values)], SIMPLE_TYPE)


def read_simple(value: bytes | None) -> SimpleMessage:
    """Decode one message, without raising.

    Args:
        value: The value of the Kafka record.

    Returns:
        The message; of kind ``invalid``, with its error, if it is not what the
        specification says.
    """
    try:
        value = decompress(value, JSON_START)
    except CdcDecodeError as error:
        return SimpleMessage(error=error.by_itself())
    return (value and _read_row(value)) or _read_strictly(value)


# ------------------------------------------------------------------------- quickly

_Integer = Annotated[int, msgspec.Meta(ge=0, le=MAX_INT64)]
_Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=MAX_MILLISECONDS)]


class _Checksum(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    version: _Integer
    corrupted: bool
    current: _Integer
    previous: _Integer


class _Row(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A message with a whole row: it has no other flags."""

    version: Literal[1]
    database: str
    table: str
    tableID: _Integer  # noqa: N815  # the field
    type: Literal["INSERT", "UPDATE", "DELETE"]
    commitTs: _Integer  # noqa: N815  # the field
    buildTs: _Milliseconds  # noqa: N815  # the field
    schemaVersion: _Integer  # noqa: N815  # the field
    data: Raw = Raw()
    old: Raw = Raw()
    checksum: _Checksum | None = None


class _Timestamp(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    location: str
    value: str


_Image = dict[str, str | _Timestamp | None]

_decode_row: Final = msgspec.json.Decoder(_Row).decode
_decode_image: Final = msgspec.json.Decoder(_Image).decode


_MEMBERS: Final = 8
"""Members that each message with a row has, beside its images."""


def _read_row(value: bytes) -> SimpleMessage | None:
    """Return a message with a row; ``None`` for what has to be read strictly."""
    if len(value) > MAX_MESSAGE_BYTES:
        return None
    try:
        row = _decode_row(value)
        data, old = bytes(row.data), bytes(row.old)
        images = [_decode_image(text) for text in (data, old) if text]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    has_images = (row.type != "DELETE", row.type != "INSERT")
    is_corrupted = row.checksum is not None and row.checksum.corrupted
    if (bool(data), bool(old)) != has_images or is_corrupted:
        return None
    if not _has_each_once(value, row, images):
        return None
    return SimpleMessage(
        "row",
        row.database,
        row.table,
        row.type,
        row.commitTs,
        None,
        row.buildTs,
        row.schemaVersion,
        row.tableID,
        None,
        None,
        None,
        data.decode() if data else None,
        old.decode() if old else None,
    )


def _has_each_once(value: bytes, row: _Row, images: list[_Image]) -> bool:
    """Tell whether no key comes twice, and none is a name that SQL could not read."""
    if len(value) > MAX_NAME_LENGTH and any(
        len(name) > MAX_NAME_LENGTH for image in images for name in image
    ):
        return False
    count = _MEMBERS + len(images) + sum(map(len, images))
    if row.checksum is not None:
        count += 1 + len(_Checksum.__struct_fields__)
    if has_members(value, count):
        return True
    values = [type(value) for image in images for value in image.values()]
    return has_members(value, count + 2 * values.count(_Timestamp))


# ------------------------------------------------------------------------ strictly


def _read_strictly(value: bytes | None) -> SimpleMessage:
    message = SimpleMessage()
    try:
        fields = strict_object(value, "$")
        event_kind = read_fields(message, fields)
        if event_kind == "row":
            _read_images(message, fields, value or b"")
        message.event_kind = event_kind
    except CdcDecodeError as error:
        message.error = error.by_itself()
    return message


def read_fields(
    message: SimpleMessage, fields: Json, *, database_field: str = "schema"
) -> EventKind:
    """Fill ``message`` field by field, so that an error leaves what was read.

    Args:
        message: A new message.
        fields: The fields, under the names of the JSON encoding.
        database_field: The field of a table's schema with its database.

    Returns:
        What the message is. Of a row, the images are not read.

    Raises:
        CdcDecodeError: If a field is not what the specification says.
    """
    version = read_int64(fields, "version")
    if version != _VERSION:
        raise CdcDecodeError(
            "unsupported_version",
            "$.version",
            f"Expected version {_VERSION} of the Simple protocol, got {version}",
        )
    event_type = message.event_type = read_string(fields, "type")
    if event_type in ROW_IMAGES:
        _read_row_fields(message, fields)
        return "row"
    if event_type in DDL_TYPES:
        message.commit_ts = read_int64(fields, "commitTs")
        message.build_ts_ms = read_milliseconds(fields, "buildTs")
        message.ddl_sql = read_string(fields, "sql")
        _read_tables(message, fields, ("tableSchema", "preTableSchema"), database_field)
        return "ddl"
    if event_type == "WATERMARK":
        message.source_database = message.source_table = ""
        message.watermark_ts = read_int64(fields, "commitTs")
        message.build_ts_ms = read_milliseconds(fields, "buildTs")
        return "watermark"
    if event_type == "BOOTSTRAP":
        # Always 0: it is made by TiCDC itself.
        read_int64(fields, "commitTs")
        message.build_ts_ms = read_milliseconds(fields, "buildTs")
        if fields.get("tableSchema") is None:
            raise missing("object", "$.tableSchema", fields, "tableSchema")
        _read_tables(message, fields, ("tableSchema",), database_field)
        return "bootstrap"
    raise CdcDecodeError(
        "unknown_event_type",
        "$.type",
        "Expected a type of the Simple protocol, such as `INSERT`, `CREATE`, "
        f"`WATERMARK` or `BOOTSTRAP`, got `{shorten(event_type)}`",
    )


# -------------------------------------------------------------------------- rows


def _read_row_fields(message: SimpleMessage, fields: Json) -> None:
    message.source_database = read_string(fields, "database")
    message.source_table = read_string(fields, "table")
    message.table_id = read_int64(fields, "tableID")
    message.commit_ts = read_int64(fields, "commitTs")
    message.build_ts_ms = read_milliseconds(fields, "buildTs")
    message.schema_version = read_int64(fields, "schemaVersion")
    require_full_row(fields, "handleKeyOnly", "$", str(message.event_type))
    _require_intact_row(fields)


def _require_intact_row(fields: Json) -> None:
    """Refuse a row whose checksum TiCDC found to be wrong."""
    checksum = fields.get("checksum")
    if checksum is None:
        return
    if not isinstance(checksum, dict):
        raise wrong_type("object | null", checksum, "$.checksum")
    for name in ("version", "current", "previous"):
        read_int64(checksum, name, "$.checksum")
    if read_bool(checksum, "corrupted", "$.checksum"):
        raise CdcDecodeError(
            "corrupted_row",
            "$.checksum.corrupted",
            "Expected a row that agrees with its checksum, got one that TiCDC marked "
            "as corrupted",
        )


def require_images(fields: Json, event_type: str) -> None:
    """Check that a row message has the images of its type, and no other.

    Args:
        fields: The fields of the message.
        event_type: A key of `ROW_IMAGES`.

    Raises:
        CdcDecodeError: If ``data`` or ``old`` is missing, too many or no object.
    """
    for name in ("data", "old"):
        image = fields.get(name)
        path = f"$.{name}"
        if name not in ROW_IMAGES[event_type]:
            if image is not None:
                raise wrong_type("null", image, path)
        elif image is None:
            raise missing("object", path, fields, name)
        elif not isinstance(image, dict):
            raise wrong_type("object", image, path)


class _RawImages(msgspec.Struct):
    data: msgspec.Raw = msgspec.Raw()
    old: msgspec.Raw = msgspec.Raw()


_decode_raw_images: Final = msgspec.json.Decoder(_RawImages).decode


def _read_images(message: SimpleMessage, fields: Json, value: bytes) -> None:
    require_images(fields, str(message.event_type))
    for name in ("data", "old"):
        for column, text in (fields.get(name) or {}).items():
            check_column_name(column, f"$.{name}")
            if text is not None and not isinstance(text, str):
                _check_timestamp(text, member_path(f"$.{name}", column))
    # The text of the images, untouched. All has been checked: this finds places only.
    raw = _decode_raw_images(value)
    if fields.get("data") is not None:
        message.data = bytes(raw.data).decode()
    if fields.get("old") is not None:
        message.old = bytes(raw.old).decode()


def _check_timestamp(value: object, path: str) -> None:
    """Check a value that is neither text nor null."""
    if not isinstance(value, dict):
        raise wrong_type("str | object | null", value, path)
    for name in ("location", "value"):
        read_string(value, name, path)
    for name in value:
        if name not in {"location", "value"}:
            raise CdcDecodeError(
                "unknown_field",
                member_path(path, name),
                f"Expected `location` and `value`, got `{shorten(name)}`",
            )


# ----------------------------------------------------------------------- schemas


class _Table(NamedTuple):
    """The schema of a table, checked."""

    database: str
    name: str
    table_id: int
    version: int
    text: str


def _read_tables(
    message: SimpleMessage, fields: Json, names: tuple[str, ...], database_field: str
) -> None:
    """Read the schemas of a message, and of which table they are."""
    tables = {
        name: _table(fields[name], f"$.{name}", database_field)
        for name in names
        if fields.get(name) is not None
    }
    for name, table in reversed(tables.items()):
        # The table as it is now wins over the one that it was.
        message.source_database = table.database
        message.source_table = table.name
        message.table_id = table.table_id
        message.schema_version = table.version
        if name == "tableSchema":
            message.table_schema = table.text
        else:
            message.pre_table_schema = table.text
    if not tables:
        message.source_database = message.source_table = ""


def _table(schema: object, path: str, database_field: str) -> _Table:
    """Read the schema of a table and put it into the form of the module."""
    if not isinstance(schema, dict):
        raise wrong_type("object | null", schema, path)
    database = read_string(schema, database_field, path)
    name = read_string(schema, "table", path)
    table_id = read_int64(schema, "tableID", path)
    version = read_int64(schema, "version", path)
    columns: dict[str, dict[str, object]] = {}
    for place, item in _items(schema, "columns", path):
        column = _column(item, place)
        column_name = str(column["name"])
        if column_name in columns:
            raise CdcDecodeError(
                "duplicate_column",
                f"{place}.name",
                f"Expected each column once, got `{shorten(column_name)}` twice",
            )
        columns[column_name] = column
    if not columns:
        raise _no_columns(f"{path}.columns")
    indexes = [
        _index(item, columns, place) for place, item in _items(schema, "indexes", path)
    ]
    text = json_text(
        {
            "database": database,
            "table": name,
            "table_id": table_id,
            "version": version,
            "columns": list(columns.values()),
            "indexes": indexes,
        }
    )
    return _Table(database, name, table_id, version, text)


def _column(column: Json, path: str) -> dict[str, object]:
    data_type = required(column, "dataType", "object", path)
    type_path = f"{path}.dataType"
    if not isinstance(data_type, dict):
        raise wrong_type("object", data_type, type_path)
    base = read_string(data_type, "mysqlType", type_path)
    if not _is_base_type(base):
        raise CdcDecodeError(
            "unknown_mysql_type",
            f"{type_path}.mysqlType",
            f"Expected the name of a MySQL type, got `{shorten(base)}`",
        )
    length = _size(data_type, "length", type_path)
    decimal = _size(data_type, "decimal", type_path)
    if decimal is None and base in _TIME_LENGTHS and length is not None:
        decimal = max(0, length - _TIME_LENGTHS[base] - 1) or None
    return {
        "name": read_string(column, "name", path),
        "type": base,
        "length": length,
        "decimal": decimal,
        "elements": _elements(data_type, type_path),
        "unsigned": _flag(data_type, "unsigned", type_path),
        "zerofill": _flag(data_type, "zerofill", type_path),
        "charset": read_string(data_type, "charset", type_path),
        "collate": read_string(data_type, "collate", type_path),
        "nullable": read_bool(column, "nullable", path),
        "default": _default(column, path),
    }


def _is_base_type(name: str) -> bool:
    # TiDB stores no types for the columns of a view.
    if name == "unspecified":
        return True
    try:
        return parse_mysql_type(name, declared=False).base == name
    except ValueError:
        return False


def _size(fields: Json, name: str, path: str) -> int | None:
    """Return a number above 0; TiDB writes -1 for one that is not declared."""
    if fields.get(name) is None or fields[name] == -1:
        return None
    return read_int64(fields, name, path) or None


def _flag(fields: Json, name: str, path: str) -> bool | None:
    if fields.get(name) is None:
        return None
    return read_bool(fields, name, path) or None


def _elements(fields: Json, path: str) -> list[str] | None:
    if fields.get("elements") is None:
        return None
    return _strings(fields, "elements", path) or None


def _default(column: Json, path: str) -> str | None:
    """Return a default value as text; that of a BIT is a number."""
    default = required(column, "default", "str | int | null", path)
    if default is None or isinstance(default, str):
        return default
    path = f"{path}.default"
    if not isinstance(default, int) or isinstance(default, bool):
        raise wrong_type("str | int | null", default, path)
    if not 0 <= default <= _MAX_UINT64:
        raise CdcDecodeError(
            "out_of_range",
            path,
            f"Expected `int` from 0 to {_MAX_UINT64}, got {shorten(str(default))}",
        )
    return str(default)


def _index(
    index: Json, columns: dict[str, dict[str, object]], path: str
) -> dict[str, object]:
    name = read_string(index, "name", path)
    is_unique = read_bool(index, "unique", path)
    is_primary = read_bool(index, "primary", path)
    # Read for its type only, see the module.
    read_bool(index, "nullable", path)
    members = _strings(index, "columns", path)
    if not members:
        raise _no_columns(f"{path}.columns")
    for number, column in enumerate(members):
        if column not in columns:
            raise CdcDecodeError(
                "unknown_column",
                f"{path}.columns[{number}]",
                f"Expected a column of the table, got `{shorten(column)}`",
            )
    return {
        "name": name,
        "unique": is_unique,
        "primary": is_primary,
        "nullable": any(columns[column]["nullable"] for column in members),
        "columns": members,
    }


def _items(fields: Json, name: str, path: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of an array, each with its place."""
    items = required(fields, name, "array", path)
    if not isinstance(items, list):
        raise wrong_type("array", items, f"{path}.{name}")
    places = [f"{path}.{name}[{index}]" for index in range(len(items))]
    for place, item in zip(places, items, strict=True):
        if not isinstance(item, dict):
            raise wrong_type("object", item, place)
    return list(zip(places, items, strict=True))


def _strings(fields: Json, name: str, path: str) -> list[str]:
    items = required(fields, name, "array", path)
    if not isinstance(items, list):
        raise wrong_type("array", items, f"{path}.{name}")
    for index, item in enumerate(items):
        if not isinstance(item, str):
            raise wrong_type("str", item, f"{path}.{name}[{index}]")
    return items


def _no_columns(path: str) -> CdcDecodeError:
    return CdcDecodeError("no_columns", path, "Expected at least one column, got none")
