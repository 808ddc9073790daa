"""The schema change topic of MariaDB: what Debezium tells of CREATE and ALTER TABLE."""

from typing import Final, Literal

from debezium_histories import has_key, shown_columns
from debezium_messages import (
    PREFIX,
    Message,
    Part,
    field_schema,
    source_schema,
    struct_schema,
)
from histories import DATABASE, KEY_COLUMNS, Column, Line, Table

_JDBC_TYPES: Final = {
    "int": 4,
    "bigint": -5,
    "decimal": 3,
    "varchar": 12,
    "text": 12,
    "datetime": 93,
    "varbinary": -3,
}
_CONNECTOR: Final = "io.debezium.connector"


def schema_change(
    type_: Literal["CREATE", "ALTER"], table: Table, sql: str, source: Line
) -> Message:
    """Return the message of a statement.

    Args:
        type_: What it does.
        table: The table afterwards.
        sql: The statement.
        source: Where it comes from.
    """
    key = struct_schema(
        f"{_CONNECTOR}.mariadb.SchemaChangeKey",
        [field_schema("databaseName", "string")],
        version=1,
    )
    change = {
        "type": type_,
        "id": f'"{DATABASE}"."{table.name}"',
        "table": {
            "defaultCharsetName": "utf8mb4",
            "primaryKeyColumnNames": list(KEY_COLUMNS) if has_key(table.name) else [],
            "columns": [
                _column(number, one)
                for number, one in enumerate(shown_columns(table), 1)
            ],
            "comment": None,
        },
    }
    payload = {
        "source": source,
        "ts_ms": None,
        "databaseName": DATABASE,
        "schemaName": None,
        "ddl": sql,
        "tableChanges": [change],
    }
    return Message(
        PREFIX, Part(key, {"databaseName": DATABASE}), Part(_schema(), payload), "other"
    )


def _column(position: int, column: Column) -> Line:
    is_text = column.base in {"varchar", "text"}
    is_sized = column.base not in {"text", "datetime"}
    return {
        "name": column.name,
        "jdbcType": _JDBC_TYPES[column.base],
        "nativeType": None,
        "typeName": column.base.upper(),
        "typeExpression": column.base.upper(),
        "charsetName": "utf8mb4" if is_text else None,
        "length": column.parameters[0] if is_sized else None,
        "scale": column.scale if column.base == "decimal" else None,
        "position": position,
        "optional": column.nullable,
        "autoIncremented": False,
        "generated": False,
        "comment": None,
        "defaultValueExpression": column.default,
        "enumValues": None,
    }


def _schema() -> Line:
    text, number = "string", "int32"
    column = [
        field_schema("name", text),
        field_schema("jdbcType", number),
        field_schema("nativeType", number, optional=True),
        field_schema("typeName", text),
        field_schema("typeExpression", text, optional=True),
        field_schema("charsetName", text, optional=True),
        field_schema("length", number, optional=True),
        field_schema("scale", number, optional=True),
        field_schema("position", number),
        field_schema("optional", "boolean", optional=True),
        field_schema("autoIncremented", "boolean", optional=True),
        field_schema("generated", "boolean", optional=True),
        field_schema("comment", text, optional=True),
        field_schema("defaultValueExpression", text, optional=True),
        _array("enumValues", {"type": text, "optional": False}, optional=True),
    ]
    columns = struct_schema(f"{_CONNECTOR}.schema.Column", column, version=1)
    table = [
        field_schema("defaultCharsetName", text, optional=True),
        _array(
            "primaryKeyColumnNames", {"type": text, "optional": False}, optional=True
        ),
        _array("columns", columns),
        field_schema("comment", text, optional=True),
    ]
    change = [
        field_schema("type", text),
        field_schema("id", text),
        struct_schema(
            f"{_CONNECTOR}.schema.Table", table, optional=True, version=1, field="table"
        ),
    ]
    changes = struct_schema(f"{_CONNECTOR}.schema.Change", change, version=1)
    fields = [
        source_schema("mariadb"),
        field_schema("ts_ms", "int64"),
        field_schema("databaseName", text, optional=True),
        field_schema("schemaName", text, optional=True),
        field_schema("ddl", text, optional=True),
        _array("tableChanges", changes),
    ]
    return struct_schema(f"{_CONNECTOR}.mariadb.SchemaChangeValue", fields, version=1)


def _array(name: str, items: Line, *, optional: bool = False) -> Line:
    return {"type": "array", "items": items, "optional": optional, "field": name}
