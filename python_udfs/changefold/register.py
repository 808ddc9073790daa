"""Registers the functions of this project with a Spark session.

The only module that knows Spark. The profile names it under `functions`; the adapter
calls `register` once, when it opens the session. A project with functions of its own
names its own module beside this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa  # noqa: TC002  # Spark reads the hints at run time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _parse_ticdc_canal_json(value: pa.Array) -> pa.Array:
    from changefold.protocols.canal_json import parse_batch

    return parse_batch(value)


def _parse_ticdc_simple(value: pa.Array) -> pa.Array:
    from changefold.protocols.simple_json import parse_batch

    return parse_batch(value)


def _parse_ticdc_simple_avro(value: pa.Array) -> pa.Array:
    from changefold.protocols.simple_avro import parse_batch

    return parse_batch(value)


def _parse_debezium(
    key: pa.Array, value: pa.Array, types: pa.Array, options: pa.Array
) -> pa.Array:
    from changefold.protocols.debezium import parse_batch

    return parse_batch(key, value, types, options)


def _check_connect_types(types: str | None) -> str | None:
    from changefold.connect.declared import check_types

    return check_types(types)


def _parse_mysql_ddl(sql: str | None, database: str | None) -> str | None:
    import msgspec

    from changefold.changefeed.event_types import event_type_of
    from changefold.mysql.ddl import parse_ddl

    if sql is None:
        return None
    statement = parse_ddl(sql, database or "")
    event_type = event_type_of(statement) if statement.understood else None
    told = {**msgspec.to_builtins(statement), "event_type": event_type}
    return msgspec.json.encode(told).decode()


def _fold_table_schemas(
    ddl_events: str | None, described: str | None, seen: str | None
) -> str:
    from changefold.schemas.udf import fold_table_schemas

    return fold_table_schemas(ddl_events, described, seen)


def _row_after_ddls(
    texts: dict[str, str | None] | None, changes: str | None
) -> dict[str, str | None] | None:
    from changefold.schemas.row_after_ddls import row_after_ddls

    if texts is None or changes is None:
        return None
    return row_after_ddls(texts, changes)


def _read_untyped(
    image: str | None,
    column_types: str | None,
    read_as: str | None,
    connector: str | None,
) -> str | None:
    from changefold.connect.untyped_rows import read_untyped

    if image is None or column_types is None or read_as is None:
        return image
    return read_untyped(image, column_types, read_as, connector)


def register(spark: SparkSession) -> None:
    """Register every function of this project under its name.

    Args:
        spark: The session; its executors need this package and pyarrow.
    """
    from pyspark.sql.functions import udf
    from pyspark.sql.pandas.functions import arrow_udf

    from changefold.protocols.batch import spark_type
    from changefold.protocols.canal_json import CANAL_JSON_TYPE
    from changefold.protocols.debezium import DEBEZIUM_TYPE
    from changefold.protocols.simple_json import SIMPLE_TYPE

    functions = {
        "parse_ticdc_canal_json": arrow_udf(  # type: ignore[call-overload]  # its stubs do not know that the hints give the kind
            _parse_ticdc_canal_json, spark_type(CANAL_JSON_TYPE)
        ),
        "parse_ticdc_simple": arrow_udf(  # type: ignore[call-overload]  # as above
            _parse_ticdc_simple, spark_type(SIMPLE_TYPE)
        ),
        "parse_ticdc_simple_avro": arrow_udf(  # type: ignore[call-overload]  # as above
            _parse_ticdc_simple_avro, spark_type(SIMPLE_TYPE)
        ),
        "parse_debezium": arrow_udf(  # type: ignore[call-overload]  # as above
            _parse_debezium, spark_type(DEBEZIUM_TYPE)
        ),
        "check_connect_types": udf(_check_connect_types, "string", useArrow=False),
        "parse_mysql_ddl": udf(_parse_mysql_ddl, "string", useArrow=False),
        "fold_table_schemas": udf(_fold_table_schemas, "string", useArrow=False),
        "read_untyped": udf(_read_untyped, "string", useArrow=False),
        "row_after_ddls": udf(_row_after_ddls, "map<string, string>", useArrow=False),
    }
    for name, function in functions.items():
        spark.udf.register(name, function)
