"""Value expressions of a filter, what they are rendered to and when they hold."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Final

from changefold.changefeed.row_predicates import ColumnOfTable
from changefold.mysql.types import parse_mysql_type


def column(mysql_type: str, sql: str, collation: str | None = None) -> ColumnOfTable:
    return ColumnOfTable(parse_mysql_type(mysql_type), sql, collation)


COLUMNS = {
    name: column(mysql_type, name)
    for name, mysql_type in {
        "id": "int",
        "age": "int",
        "big": "bigint",
        "unsigned_int": "int unsigned",
        "unsigned_big": "bigint unsigned",
        "amount": "decimal(10,2)",
        "wide": "decimal(38,10)",
        "too_wide": "decimal(50,2)",
        "price": "float",
        "ratio": "double",
        "flags": "bit(8)",
        "year_": "year",
        "name": "varchar(20)",
        "gender": "enum('male','female')",
        "tags": "set('a','b')",
        "day_": "date",
        "at": "datetime(3)",
        "stamp": "timestamp",
        "span": "time",
        "document": "json",
        "bytes_": "varbinary(10)",
        "padded": "binary(4)",
    }.items()
} | {
    "status": column("varchar(9)", "status", "utf8mb4_general_ci"),
    "code": column("varchar(9)", "code", "utf8mb4_0900_ai_ci"),
    "exact": column("varchar(9)", "exact", "utf8mb4_0900_bin"),
    "other": column("varchar(9)", "other", "gbk_chinese_ci"),
    "Mixed Case": column("int", "record.`Mixed Case`"),
    "sum": column("int", "a + b"),
}


RENDERED: Final[list[tuple[str, str]]] = [
    ("age >= 20 or gender = 'female'", "age >= 20 or rtrim(gender) = 'female'"),
    ("age >= 32 and age < 48", "age >= 32 and age < 48"),
    ("id", "id = 1"),
    ("ID != 5", "id <> 5"),
    ("`mixed case` = 1", "record.`Mixed Case` = 1"),
    ("sum = 1", "(a + b) = 1"),
    ("id = true", "id = 1"),
    ("true", "1 = 1"),
    ("id is null", "id is null"),
    ("document is not null", "document is not null"),
    ("isnull(span)", "span is null"),
    ("id <=> null", "id is null"),
    ("id <=> 5", "id <=> 5"),
    ("id = null", "cast(null as boolean)"),
    ("id is true", "(id <> 0) is true"),
    ("id is not false", "not ((id <> 0) is false)"),
    ("id in (1, 2, null)", "id in (1, 2, null)"),
    ("id not in (1, 2)", "not (id in (1, 2))"),
    ("id between 1 and 5 and age", "id >= 1 and id <= 5 and age <> 0"),
    ("not id = 1 and age", "not (id = 1) and age <> 0"),
    ("!id = 1", "cast(not (id <> 0) as int) = 1"),
    ("id && age || big", "id <> 0 and age <> 0 or big <> 0"),
    ("id and (age or big)", "id <> 0 and (age <> 0 or big <> 0)"),
    ("id xor age > 5", "(id <> 0) <> (age > 5)"),
    # numbers
    ("id = -5", "id = -5"),
    ("id = 18446744073709551615", "id = 18446744073709551615"),
    ("id = '05'", "id = 5"),
    ("amount > '.5'", "amount > 0.5"),
    ("id = 1e2", "cast(id as double) = 1e2D"),
    ("price = 0.1", "cast(price as double) = 0.1D"),
    ("price < ratio", "cast(price as double) < ratio"),
    ("id + 1 > big", "try_add(cast(id as bigint), 1L) > big"),
    ("big * 2 = 4", "try_multiply(big, 2L) = 4"),
    ("-big = 5", "try_subtract(0L, big) = 5"),
    ("unsigned_int - 1 = 0", "try_subtract(unsigned_int, 1L) = 0"),
    ("unsigned_big + 1 = 5", "(unsigned_big + 1) = 5"),
    ("amount * 2.5 = 10", "(amount * 2.5) = 10"),
    ("amount / 100 > 5", "(amount * 0.01) > 5"),
    ("ratio / id > 2", "(ratio / nullif(cast(id as double), 0D)) > 2D"),
    ("id div 3 = 2", "(id div 3) = 2"),
    ("id % 2", "(id % 2) = 1"),
    ("mod(id, age) = 0", "(id % nullif(age, 0)) = 0"),
    ("flags & 4 = 4", "(flags & 4L) = 4"),
    ("flags = b'101'", "flags = 5"),
    ("id = 0xff", "id = 255"),
    ("unsigned_big >> 1 = 0", "shiftrightunsigned(try_cast(if(unsigned_big > 9223372036854775807, unsigned_big - 18446744073709551616BD, unsigned_big) as bigint), 1) = 0"),
    ("~id = 5", "if((~cast(id as bigint)) < 0, (~cast(id as bigint)) + 18446744073709551616BD, (~cast(id as bigint))) = 5"),
    ("id << 64", "0 = 1"),
    ("(id > 1) + (age > 1) = 2", "try_add(cast(cast(id > 1 as int) as bigint), cast(cast(age > 1 as int) as bigint)) = 2"),
    ("year_ = 2024", "year_ = 2024"),
    ("abs(big) > 5", "abs(cast(big as decimal(20, 0))) > 5"),
    # text
    ("name = 'it''s  '", r"rtrim(name) = 'it\'s'"),
    ("name in ('a', 'b')", "rtrim(name) in ('a', 'b')"),
    ("name < \"b\"", "rtrim(name) < 'b'"),
    ("exact = 'a '", "exact = 'a '"),
    ("status = 'New '", "rtrim(status) collate UNICODE_CI_AI = 'New'"),
    ("status in ('a', 'b')", "rtrim(status) collate UNICODE_CI_AI = 'a' or rtrim(status) collate UNICODE_CI_AI = 'b'"),
    ("code <=> 'x '", "code collate UNICODE_CI_AI <=> 'x '"),
    ("gender = 2", "array_position(array('male', 'female'), gender) = 2"),
    ("gender in ('male', 2)", "rtrim(gender) = 'male' or array_position(array('male', 'female'), gender) = 2"),
    ("tags = 'a,b'", "rtrim(tags) = 'a,b'"),
    ("name like 'a%'", "name like 'a%'"),
    (r"name like '10\%\_\\%'", r"name like '10\\%\\_\\%'"),
    ("name not like 'a!%b' escape '!'", r"name not like 'a\\%b'"),
    ("name regexp '^a.$'", r"name rlike '^a[^\\n]\\z'"),
    ("name not rlike 'x'", "not (name rlike 'x')"),
    ("bytes_ = 'abc'", "bytes_ = X'616263'"),
    ("bytes_ > x'00ff'", "bytes_ > X'00ff'"),
    ("lower(name) = 'x'", "rtrim(lower(translate(name, 'İΣ', 'i\u03c3'))) = 'x'"),
    ("concat(name, '-') = 'a-'", "rtrim(concat(name, '-')) = 'a-'"),
    ("length(name) > char_length(name)", "octet_length(name) > char_length(name)"),
    ("substring(name, 1, 2) = 'ab'", "rtrim(substring(name, 1, 2)) = 'ab'"),
    ("left(name, 2) = right(name, 2)", "rtrim(left(name, 2)) = rtrim(right(name, 2))"),
    ("trim(name) = ltrim(rtrim(name))", "rtrim(trim(name)) = rtrim(ltrim(rtrim(name)))"),
    # choices
    ("ifnull(id, 0) = 0", "coalesce(id, 0) = 0"),
    ("coalesce(name, 'x') = 'x'", "rtrim(coalesce(name, 'x')) = 'x'"),
    ("if(id > 5, 1, null)", "if(id > 5, 1, null) = 1"),
    ("nullif(id, 5) is null", "if(id = 5, null, id) is null"),
    ("coalesce(id, amount) > 1", "coalesce(id, amount) > 1"),
    ("if(id, id > 1, age > 2)", "if(id <> 0, id > 1, age > 2)"),
    # times
    ("day_ = '2024-01-31'", "day_ = date'2024-01-31'"),
    ("day_ >= date '2024-01-31'", "day_ >= date'2024-01-31'"),
    ("at < '2024-01-31'", "at < timestamp_ntz'2024-01-31 00:00:00'"),
    ("at = '2024-01-31T10:00:00.5'", "at = timestamp_ntz'2024-01-31 10:00:00.5'"),
    ("day_ < at", "cast(day_ as timestamp_ntz) < at"),
    ("stamp < '2024-01-31'", "cast(stamp as timestamp_ntz) < timestamp_ntz'2024-01-31 00:00:00'"),
    ("year(day_) = 2024 and day(at) = 1", "year(day_) = 2024 and day(cast(at as date)) = 1"),
    ("date(at) = '2024-01-31'", "cast(at as date) = date'2024-01-31'"),
]  # fmt: skip
"""Expression over `COLUMNS`, and its condition in Spark SQL."""

STUDENT: Final = {
    "id": column("int", "id"),
    "name": column("varchar(128)", "name"),
    "age": column("int", "age"),
    "gender": column("enum('male','female')", "gender"),
}
"""The table in the example of TiCDC's documentation."""

STUDENT_CASES: Final[list[tuple[str, int | None, str, bool]]] = [
    ("age >= 20 or gender = 'female'", 20, "male", True),
    ("age >= 20 or gender = 'female'", 18, "male", False),
    ("age >= 20 or gender = 'female'", 3, "female", True),
    ("age >= 32 and age < 48", 18, "female", False),
    ("age >= 32 and age < 48", 32, "female", True),
    ("age >= 32 and age < 48", 48, "male", False),
    ("age > 28", 32, "female", True),
    ("age > 28", 22, "female", False),
    ("gender = 'male'", 18, "female", False),
    ("gender = 'male'", 25, "male", True),
    ("age > 28", None, "male", False),
    ("not age > 28", None, "male", False),
]
"""Expression, age and gender, and whether the rule ignores such a change."""

INTEGER_CASES: Final[list[tuple[str, int | None, bool]]] = [
    ("a", 1, True),
    ("a", 2, False),
    ("a", 0, False),
    ("a", None, False),
    ("a % 2 = 1", 3, True),
    ("a % 2 = -1", -3, True),
    ("a div 2 = -1", -3, True),
    ("a / 8 = -.375", -3, True),
    ("a & 5 = 4", 6, True),
    ("~a = 18446744073709551615", 0, True),
    ("a | 1 = 18446744073709551615", -2, True),
    ("a << 63 = 9223372036854775808", 1, True),
    ("-a > 0", -(1 << 31), True),
    ("abs(a) = 5", -5, True),
    ("nullif(a, 5) <=> null", 5, True),
    ("a + 9223372036854775807 > 0", 1, False),
]
"""Expression, value of the INT `a`, and whether it holds in MySQL."""

TEXT_CASES: Final[list[tuple[str, str | None, bool]]] = [
    ("a = 'x'", "x  ", True),
    ("a = 'x'", "X", False),
    ("a = 'x'", "x\t", False),
    ("a <> 'x'", None, False),
    ("a = 0", "abc", True),
    ("a = 12", " \u00a012abc", True),
    ("a = -1.5", "-1.5e0x", True),
    ("a > 1e2", "1e3", True),
    ("a = 0", ".", True),
    ("a = 0", None, False),
    ("a like 'a%b_'", "a\nb😀", True),
    (r"a like '\%%'", "%x", True),
    (r"a like '\%%'", "x", False),
    ("a not like 'a%'", "b", True),
    ("a regexp '^.$'", "😀", True),
    ("a regexp '^.$'", "x\n", False),
    ("trim(a) = 'x'", " x ", True),
    ("lower(a) = 'i\u03c3'", "\u0130Σ", True),
]
"""Expression, value of the VARCHAR `a`, and whether it holds in TiDB."""

TYPES: Final = {
    "id": "int",
    "age": "int",
    "big": "bigint",
    "unsigned_int": "bigint",
    "unsigned_big": "decimal(20, 0)",
    "amount": "decimal(10, 2)",
    "price": "float",
    "ratio": "double",
    "flags": "bigint",
    "year_": "int",
    "name": "string",
    "gender": "string",
    "tags": "string",
    "day_": "date",
    "at": "timestamp_ntz",
    "stamp": "timestamp",
    "span": "string",
    "document": "string",
    "bytes_": "binary",
    "status": "string",
    "code": "string",
    "exact": "string",
    "Mixed Case": "int",
    "a": "int",
    "b": "int",
}
"""Types of the columns in Spark, as the seed `mysql_types` names them."""


def _row(*values: object) -> dict[str, object]:
    return dict(zip(TYPES, values, strict=True))


_FLOAT: Final = 0.10000000149011612
"""0.1 as a FLOAT holds it."""

_MAX: Final = 18446744073709551615
_AT: Final = datetime(2024, 1, 31, 10, 0, 0, 500000)  # noqa: DTZ001  # a DATETIME has no zone

ROWS: Final = [
    _row(
        *(5, 40, 2, 1, 1, Decimal("5.00"), _FLOAT, 0.5, 5, 2024, "a", "male", "a,b"),
        *(date(2024, 1, 31), datetime(2024, 1, 31, 10), datetime(2024, 1, 30, 23)),  # noqa: DTZ001
        *("10:00:00", "{}", b"abc", "New", "x", "a ", 1, 1, 0),
    ),
    _row(
        *(1, 25, -5, 2, 4, Decimal("4.00"), 0.75, 20.0, 4, 2023, "ab", "female", "a"),
        *(date(2024, 2, 1), datetime(2024, 2, 1), datetime(2024, 1, 31)),  # noqa: DTZ001
        *("-01:00:00", "[]", b"\x00\xff", "NEW  ", "X ", "a", 2, 1, 1),
    ),
    _row(
        *(7, 0, 8, 0, 2, Decimal("512.00"), 0.5, 0.25, 0, 0, "it's  ", "male", ""),
        *(date(2023, 12, 31), datetime(2023, 12, 31), datetime(2023, 12, 31)),  # noqa: DTZ001
        *("00:00:00", "1", b"\x00\xff\x00", "old", "x ", "A ", 0, 3, -2),
    ),
    _row(
        *(0, 6, -6, 9, 0, Decimal("-4.00"), -1.5, -3.0, 255, 1999, "10%_%", "female"),
        *("b", date(2024, 1, 1), _AT, datetime(2025, 1, 1), "1:00:00", "null", b""),  # noqa: DTZ001
        *("A", "xx", "b", -1, 0, 0),
    ),
    _row(
        *(-5, 5, 0, 1, _MAX, Decimal("0.00"), 0.0, 0.0, 1, 2024, "a%b", "male", "b"),
        *(date(1999, 1, 1), datetime(2030, 1, 1), datetime(1999, 1, 1)),  # noqa: DTZ001
        *("", "0", b"b", "b ", "y", "a  ", None, None, 1),
    ),
    _row(
        *(255, None, 1, None, 3, None, None, 1.0, None, None, "X", None, None),
        *(None, None, None, None, None, None, "N\u00e9w", None, None, 1, 0, 1),
    ),
    _row(*(100, 33, None, 5, 5, None, 1.0, None, 2, 1, "\u00e9", *[None] * 14)),
    _row(*(-6, 2, 6, 5, 5, None, 1.0, None, 2, 1, "abc ", *[None] * 14)),
    _row(*[None] * len(TYPES)),
]
"""Rows with the columns of `TYPES`."""

NEVER: Final = {"id = null", "id = 18446744073709551615", "price = 0.1", "id << 64"}
"""Expressions of `RENDERED` that no row fulfils: a FLOAT is never 0.1, for one."""

BY_MYSQL: Final[dict[str, str]] = {
    "unsigned_big >> 1 = 0": "1..1.....",
    # accents and capitals do not count, nor do spaces at the end
    "status = 'New '": "11...1...",
    "status in ('a', 'b')": "...11....",
    # a collation of 0900 counts spaces at the end
    "code <=> 'x '": ".11......",
    # an ENUM is its number beside numbers
    "gender = 2": ".1.1.....",
    "gender in ('male', 2)": "11111....",
    "bytes_ = 'abc'": "1........",
    "bytes_ > x'00ff'": "1.1.1....",
    "concat(name, '-') = 'a-'": "1........",
    "length(name) > char_length(name)": "......1..",
    "substring(name, 1, 2) = 'ab'": ".1.....1.",
    # 'it' and '  ' differ; so do 'ab' and 'c '
    "left(name, 2) = right(name, 2)": "11...11..",
    "year(day_) = 2024 and day(at) = 1": ".1.......",
}
"""Where expressions of `RENDERED` hold that `spark_conditions` can not evaluate.

It has no collations, bytes, arrays and parts of texts. A place for each of `ROWS`, 1 if it
holds, by MySQL's reference manual.
"""

TIME_CASES: Final = [
    ("day_ = '2024-01-31'", True),
    ("day_ < '2024-01-31 00:00:01'", True),
    ("day_ < at", True),
    ("at between '2024-01-31' and '2024-02-01'", True),
    ("date(at) = day_", True),
    ("amount = '5.00'", True),
    ("amount = 5e0", True),
    ("amount / 4 = 1.25", True),
]
"""Expression over `COLUMNS`, and whether it holds for the first of `ROWS`."""
