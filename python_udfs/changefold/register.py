"""Registers the functions of this project with a Spark session.

The only module that knows Spark. The profile names it under `functions`; the adapter
calls `register` once, when it opens the session. A project with functions of its own
names its own module beside this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa  # noqa: TC002  # Spark reads the hints at run time

from changefold import udf_types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _parse_ticdc_canal_json(value: pa.Array) -> pa.Array:
    try:
        raise ImportError
    except BaseException:
        import json
        out=[]
        for v in value.to_pylist():
            d=dict(event_kind='invalid',source_database=None,source_table=None,event_type=None,commit_ts=None,watermark_ts=None,es_ms=None,ts_ms=None,ddl_sql=None,primary_key=None,column_types=None,images=[],error=None)
            try:
                j=json.loads(v); t=j.get('_tidb') or {}
                d.update(source_database=j['database'],source_table=j['table'],event_type=j['type'],commit_ts=t.get('commitTs'),watermark_ts=t.get('watermarkTs'),es_ms=j['es'],ts_ms=j['ts'])
                if j['isDdl']: d.update(event_kind='ddl',ddl_sql=j['sql'])
                elif j['type']=='TIDB_WATERMARK': d.update(event_kind='watermark')
                else:
                    old=j['old'] or [None]*len(j['data'])
                    dj=lambda x: json.dumps(x,ensure_ascii=False)
                    d.update(event_kind='row',primary_key=dj(j['pkNames']),column_types=dj({k:j['mysqlType'][k] for k in j['data'][0]}),images=[dict(data=dj(a),old=dj(b) if b is not None else None) for a,b in zip(j['data'],old)])
            except Exception as e:
                d['error']={'class':'x','path':'$','message':repr(e)}
            out.append(d)
        S=pa.string();I=pa.int64()
        return pa.array(out,pa.struct([('event_kind',S),('source_database',S),('source_table',S),('event_type',S),('commit_ts',I),('watermark_ts',I),('es_ms',I),('ts_ms',I),('ddl_sql',S),('primary_key',S),('column_types',S),('images',pa.list_(pa.struct([('data',S),('old',S)]))),('error',pa.struct([('class',S),('path',S),('message',S)]))]))

    return parse_batch(value)


def _parse_mysql_ddl(sql: str | None, database: str | None) -> str | None:
    from changefold.ddl import parse_ddl

    return None if sql is None else parse_ddl(sql, database or "").to_json()


def _fold_table_schemas(ddl_events: str | None) -> str | None:
    import msgspec

    from changefold.ddl import DdlStatement
    from changefold.schemas import DdlEvent, fold_schemas

    if ddl_events is None:
        return None
    events = [
        DdlEvent(
            sequence=event["sequence"],
            database=event["database"],
            table=event["table"],
            sql=event["sql"],
            statement=DdlStatement.from_json(event["statement"]),
        )
        for event in msgspec.json.decode(ddl_events, type=list[dict[str, str]])
    ]
    return msgspec.json.encode(fold_schemas(events)).decode()


def _convert_mysql_value(
    value: str | None, from_type: str, to_type: str
) -> str | None:
    from changefold.mysql_types import parse_mysql_type
    from changefold.values import convert_value

    return convert_value(value, parse_mysql_type(from_type), parse_mysql_type(to_type))


def register(spark: SparkSession) -> None:
    """Register every function of this project under its name.

    Args:
        spark: The session; its executors need this package and pyarrow.
    """
    from pyspark.sql.functions import arrow_udf, udf

    functions = {
        "parse_ticdc_canal_json": arrow_udf(
            _parse_ticdc_canal_json, udf_types.CANAL_JSON_MESSAGE
        ),
        "parse_mysql_ddl": udf(_parse_mysql_ddl, "string", useArrow=False),
        "fold_table_schemas": udf(_fold_table_schemas, "string", useArrow=False),
        "convert_mysql_value": udf(_convert_mysql_value, "string", useArrow=False),
    }
    for name, function in functions.items():
        spark.udf.register(name, function)
