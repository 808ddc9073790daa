"""Value expressions of TiCDC's event filter, as conditions of Spark SQL.

``ignore-insert-value-expr`` and its kind hold what may follow WHERE. TiCDC has TiDB
evaluate it on a row, and ignores the change if the result is the integer 1. Here the
same text becomes a condition over typed columns. What can not be made to give the same
is refused with a sentence.

Types decide how values compare, as in TiDB: numbers exactly, unless one is a FLOAT or
DOUBLE; a text column with a number as doubles, by the number that the text begins with;
a number with a quoted number exactly; ENUM by name with texts and by number with
numbers; a date or time with a quoted one as written, in the changefeed's time zone.

Text compares by its collation, in TiDB's new framework of collations (its default):

- ``_bin``, and no declared collation: by bytes, without trailing spaces;
- ``utf8mb4_0900_bin`` and ``binary``: by bytes;
- ``_general_ci``, ``_unicode_ci``, ``utf8mb4_0900_ai_ci``: ``=``, ``<>``, ``<=>`` and
  IN with literals of printable ASCII, as Spark's ``UNICODE_CI_AI``. It agrees on
  printable ASCII values, and takes letters with an accent for those without, as MySQL
  does; it may differ for combining and invisible characters. Order, LIKE, REGEXP and
  two columns are refused;
- any other collation is refused.

Where TiDB stops with an error (an overflow, a negative difference of unsigned numbers)
so does TiCDC; what the condition says there does not matter. A zero date is null in the
tables of this project, and counts as NULL. The time zone of the session must be UTC, as
this project sets it.

Sources: MySQL 8.0 reference manual, 14.3 "Type Conversion in Expression Evaluation" and
14.4 "Operators"; the packages ``expression`` and ``types`` of TiDB v8.5; TiCDC,
``pkg/filter/expr_filter.go``.
"""

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from sqlglot import exp

from changefold.changefeed.go_regex import parse_go_regex
from changefold.changefeed.letter_case import lowered_sql
from changefold.mysql.expressions import OPERATORS, parse_expression, refused
from changefold.mysql.types import MySqlType
from changefold.spark_text import sql_text

__all__ = ["ColumnOfTable", "render_expression"]


@dataclass(frozen=True, slots=True)
class ColumnOfTable:
    """A column that an expression may name.

    Attributes:
        type: Its declared type.
        sql: Its typed value in Spark SQL, of the type that the seed ``mysql_types``
            names: ``int``, ``bigint``, ``decimal(p, s)``, ``timestamp_ntz``, ...
        collation: Its collation, lower case; ``None`` for ``utf8mb4_bin``, the default
            of TiDB.
    """

    type: MySqlType
    sql: str
    collation: str | None = None


def render_expression(
    text: str, columns: Mapping[str, ColumnOfTable], *, time_zone: str = "UTC"
) -> str:
    """Return an expression as a condition of Spark SQL.

    Args:
        text: The expression, as the configuration of TiCDC has it.
        columns: Columns of the row by name.
        time_zone: Time zone of the changefeed, in which TIMESTAMP compares with quoted
            times: ``Asia/Shanghai``.

    Returns:
        A boolean expression, never null: true if TiCDC ignores the row.

    Raises:
        ValueError: If it is no expression of MySQL, names an unknown column, or could
            give another result in Spark.
    """
    return _Renderer(text, columns, time_zone).condition(parse_expression(text))


# --- Values -----------------------------------------------------------------------

_Kind: TypeAlias = Literal[
    "null",
    "boolean",
    "integer",
    "decimal",
    "double",
    "text",
    "bytes",
    "bits",
    "date",
    "datetime",
    "other",
]

_OR: Final = 1
_AND: Final = 2
_NOT: Final = 3
_PREDICATE: Final = 4
_ATOM: Final = 5


@dataclass(frozen=True, slots=True)
class _Value:
    """A part of the expression in Spark SQL.

    Attributes:
        kind: Its type: ``bits`` is a hexadecimal or bit literal, ``other`` a column
            that can only be asked for NULL.
        sql: The text.
        level: How tightly its outermost operator binds.
        digits: Of ``integer`` and ``decimal``: at most so many digits.
        scale: Of ``decimal``: digits behind the point.
        is_wide: Of ``integer``: a decimal in Spark, since it may exceed a bigint.
        literal: Text of a literal; of a number its digits with the sign.
        collation: Of ``text``: collation of its column.
        base: ``year``, ``bit``, ``enum`` or ``set`` of such a column.
        members: Names of an ENUM.
    """

    kind: _Kind
    sql: str
    level: int = _ATOM
    digits: int = 0
    scale: int = 0
    is_wide: bool = False
    literal: str | None = None
    collation: str | None = None
    base: str | None = None
    members: tuple[str, ...] = ()

    def at(self, level: int) -> str:
        """Return the text, in parentheses where it binds less than `level`."""
        return self.sql if self.level >= level else f"({self.sql})"


_NUMBERS: Final = frozenset({"boolean", "integer", "decimal", "double", "bits"})
_TIMES: Final = frozenset({"date", "datetime"})
_INT_DIGITS: Final = 10
_BIGINT_DIGITS: Final = 20
_MAX_DIGITS: Final = 38
"""Of a decimal of Spark."""
_MAX_SCALE: Final = 30
"""Of a DECIMAL of MySQL."""
_MAX_BIGINT: Final = (1 << 63) - 1
_TWO_TO_64: Final = "18446744073709551616BD"

_PADDED: Final = frozenset(
    {"utf8mb4_bin", "utf8_bin", "utf8mb3_bin", "latin1_bin", "ascii_bin"}
)
_BY_BYTES: Final = _PADDED | {"utf8mb4_0900_bin", "binary"}
_PADDED_CI: Final = frozenset(
    f"{charset}_{order}_ci"
    for charset in ("utf8mb4", "utf8", "utf8mb3")
    for order in ("general", "unicode")
)
_BY_LETTERS: Final = _PADDED_CI | {"utf8mb4_0900_ai_ci"}

_NAME: Final = re.compile(r"(?:`[^`]+`|\w+)(?:\.(?:`[^`]+`|\w+))*")
_PLAIN_NUMBER: Final = re.compile(r" *([-+]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(
    r"([0-9-]{10})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)"
)
_PRINTABLE: Final = re.compile(r"[ -~]*")
_SPACES: Final = (
    r"[\s\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
)
_LEADING_NUMBER: Final = (
    rf"^{_SPACES}*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
)
"""What TiDB reads as the number of a text, behind the space that Go cuts off."""

_NULL: Final = _Value("null", "null")
_NULL_TRUTH: Final = _Value("boolean", "cast(null as boolean)")


def _predicate(sql: str) -> _Value:
    return _Value("boolean", sql, _PREDICATE)


def _integer(sql: str, digits: int = _BIGINT_DIGITS, *, wide: bool = False) -> _Value:
    return _Value("integer", sql, digits=digits, is_wide=wide)


def _number_literal(text: str) -> _Value:
    """Return an unquoted number: an integer, a decimal or a double."""
    if "e" in text.lower():
        return _Value("double", f"{text}D", literal=text)
    sign = "-" if text.startswith("-") else ""
    whole, _, fraction = text.lstrip("+-").partition(".")
    whole = whole.lstrip("0") or "0"
    literal = f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
    is_integer = "." not in text and int(whole) < 1 << 64
    return _Value(
        "integer" if is_integer else "decimal",
        literal,
        digits=len(whole) + len(fraction),
        scale=len(fraction),
        is_wide=is_integer and int(whole) > _MAX_BIGINT,
        literal=literal,
    )


def _reciprocal(value: _Value) -> _Value | None:
    """Return 1 / n of a literal n if it has no more than four digits."""
    number = int(value.literal) if value.kind == "integer" and value.literal else 0
    for places in range(5):
        if number > 0 and 10**places % number == 0:
            digits = str(10**places // number).zfill(places + 1)
            point = len(digits) - places
            return _number_literal(f"{digits[:point]}.{digits[point:]}")
    return None


# --- Comparing --------------------------------------------------------------------


class _Comparer:
    """Writes values so that Spark compares them as TiDB does."""

    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, part: _Value | str, why: str) -> ValueError:
        return refused(self.text, part if isinstance(part, str) else part.sql, why)

    def comparison(self, operator: str, left: _Value, right: _Value) -> _Value:
        if "null" in {left.kind, right.kind}:
            if operator != "<=>":
                return _NULL_TRUTH
            value = right if left.kind == "null" else left
            return _predicate(f"{value.at(_ATOM)} is null")
        is_equality = operator in {"=", "<>", "<=>"}
        sides = self.sides(left, right, is_equality=is_equality)
        return _predicate(f" {operator} ".join(sides))

    def sides(
        self, left: _Value, right: _Value, *, is_equality: bool
    ) -> tuple[str, str]:
        """Return both sides of a comparison."""
        self.check_year(left, right)
        self.check_year(right, left)
        kinds = {left.kind, right.kind}
        if kinds == {"text"}:
            return self.text_sides(left, right, is_equality=is_equality)
        if kinds <= _NUMBERS | {"text"} and kinds != {"bits", "text"}:
            return self.number_sides(left, right)
        if kinds & _TIMES and kinds <= _TIMES | {"text"}:
            return self.time_sides(left, right)
        if "bytes" in kinds and kinds <= {"bytes", "bits", "text"}:
            return self.bytes_side(left), self.bytes_side(right)
        raise self.fail(
            f"{left.sql}, {right.sql}", "values of such types do not compare"
        )

    def check_year(self, year: _Value, other: _Value) -> None:
        if year.base != "year" or other.literal is None:
            return
        if _PLAIN_NUMBER.fullmatch(other.literal) and abs(float(other.literal)) < 100:
            raise self.fail(other, "TiDB takes it for a year of two digits")

    # Numbers

    def number(self, value: _Value) -> _Value:
        """Return what arithmetic takes a value for."""
        if value.kind == "boolean":
            return _integer(f"cast({value.sql} as int)", 1)
        if value.kind == "bits":
            return _number_literal(value.literal or "0")
        if value.kind in _NUMBERS:
            return value
        if value.kind != "text" or value.literal is not None or value.base:
            raise self.fail(value, "it is no number")
        number = f"regexp_extract({value.sql}, {sql_text(_LEADING_NUMBER)}, 1)"
        number = f"coalesce(try_cast({number} as double), 0D)"
        return _Value("double", f"if({value.sql} is null, null, {number})")

    def compared_number(self, value: _Value) -> _Value:
        """Return what a value is when it is compared with a number."""
        if value.kind == "text" and value.literal is not None:
            found = _PLAIN_NUMBER.fullmatch(value.literal)
            if found is None:
                raise self.fail(value, "it is no plain number")
            return self.check_literal(_number_literal("".join(found.groups())))
        if value.base == "enum" and "" not in value.members:
            names = ", ".join(map(sql_text, value.members))
            return _integer(f"array_position(array({names}), {value.sql})")
        return self.number(value)

    def check_literal(self, value: _Value) -> _Value:
        if value.digits > _MAX_DIGITS or value.scale > _MAX_SCALE:
            raise self.fail(value, "too many digits")
        return value

    def number_sides(self, left: _Value, right: _Value) -> tuple[str, str]:
        numbers = self.compared_number(left), self.compared_number(right)
        kinds = {number.kind for number in numbers}
        if "bits" in {left.kind, right.kind} and kinds != {"integer"}:
            raise self.fail(
                f"{left.sql}, {right.sql}", "bits compare with integers only"
            )
        if "double" in kinds:
            return self.double(numbers[0]), self.double(numbers[1])
        self.common_digits(*numbers)
        return numbers[0].sql, numbers[1].sql

    @staticmethod
    def double(value: _Value) -> str:
        if value.kind == "double":
            return value.sql
        if value.literal is not None:
            return f"{value.sql}D"
        return f"cast({value.sql} as double)"

    def common_digits(self, *values: _Value) -> tuple[int, int]:
        """Return digits and scale that hold all values; refuse too many."""
        scale = max(value.scale for value in values)
        digits = max(value.digits - value.scale for value in values) + scale
        if digits > _MAX_DIGITS:
            shown = ", ".join(value.sql for value in values)
            raise self.fail(shown, f"decimals of Spark end at {_MAX_DIGITS} digits")
        return digits, scale

    # Times

    def time_sides(self, left: _Value, right: _Value) -> tuple[str, str]:
        left, right = self.time(left), self.time(right)
        if left.kind == right.kind:
            return left.sql, right.sql
        return self.datetime(left), self.datetime(right)

    def time(self, value: _Value) -> _Value:
        if value.kind in _TIMES:
            return value
        if value.literal is None:
            raise self.fail(value, "a time compares with a quoted time only")
        return self.time_literal(value.literal)

    def time_literal(self, text: str) -> _Value:
        """Return a quoted date or time, of the usual form only."""
        found = _TIME.fullmatch(text)
        if found is None and _DATE.fullmatch(text) is None:
            raise self.fail(
                text, "a time is `2024-01-31` or `2024-01-31 12:00:00.5` here"
            )
        try:
            dt.datetime.fromisoformat(f"{found[1]} {found[2][:8]}" if found else text)
        except ValueError as error:
            raise self.fail(text, "no calendar has it") from error
        if found is None:
            return _Value("date", f"date{sql_text(text)}", literal=text)
        clock = sql_text(f"{found[1]} {found[2]}")
        return _Value("datetime", f"timestamp_ntz{clock}")

    @staticmethod
    def datetime(value: _Value) -> str:
        if value.kind == "datetime":
            return value.sql
        if value.literal is not None:
            return f"timestamp_ntz{sql_text(f'{value.literal} 00:00:00')}"
        return f"cast({value.sql} as timestamp_ntz)"

    # Text and bytes

    def bytes_side(self, value: _Value) -> str:
        if value.kind != "text":
            return value.sql
        if value.literal is None:
            raise self.fail(value, "bytes compare with quoted text only")
        return f"X'{value.literal.encode().hex()}'"

    def text_sides(
        self, left: _Value, right: _Value, *, is_equality: bool
    ) -> tuple[str, str]:
        collation = self.collation(left, right)
        both = f"{left.sql}, {right.sql}"
        if collation not in _BY_BYTES | _BY_LETTERS:
            raise self.fail(both, f"collation `{collation}` is not known here")
        if collation in _BY_LETTERS:
            literal = left.literal if right.literal is None else right.literal
            if not is_equality or literal is None or not _PRINTABLE.fullmatch(literal):
                why = "is exact enough for `=`, `<>`, `<=>` and IN with ASCII text only"
                raise self.fail(both, f"collation `{collation}` {why}")
        is_padded = collation in _PADDED | _PADDED_CI
        first, second = (
            _trimmed(value) if is_padded else value.sql for value in (left, right)
        )
        if collation in _BY_LETTERS:
            first = f"{first} collate UNICODE_CI_AI"
        return first, second

    def collation(self, *values: _Value) -> str:
        """Return the one collation by which texts compare."""
        names = {value.collation for value in values if value.collation is not None}
        if len(names) != 1:
            why = "their collations differ" if names else "there is no column"
            raise self.fail(", ".join(value.sql for value in values), why)
        return names.pop()


def _trimmed(value: _Value) -> str:
    """Return a text without trailing spaces, which PAD SPACE does not compare."""
    if value.literal is not None:
        return sql_text(value.literal.rstrip(" "))
    return f"rtrim({value.sql})"


def _like_pattern(pattern: str, escape: str) -> str | None:
    r"""Return a pattern of LIKE with ``\`` as its escape, as Spark reads it.

    Returns:
        The pattern; ``None`` if its escape stands before another character, which MySQL
        and TiDB read differently.
    """
    written = ""
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == escape:
            index += 1
            char = pattern[index : index + 1]
            if not char or char not in {escape, "%", "_"}:
                return None
            written += f"\\{char}" if char in "\\%_" else char
        else:
            written += "\\\\" if char == "\\" else char
        index += 1
    return written


# --- Rendering --------------------------------------------------------------------


class _Renderer(_Comparer):
    """Renders one expression; a method for each kind of node."""

    def __init__(
        self, text: str, columns: Mapping[str, ColumnOfTable], time_zone: str
    ) -> None:
        super().__init__(text)
        self.columns = {name.lower(): column for name, column in columns.items()}
        self.time_zone = time_zone

    def condition(self, node: exp.Expr) -> str:
        value = self.value(node)
        if value.kind == "null":
            return "false"
        if value.kind not in {"boolean", "integer"} or value.base == "bit":
            raise self.fail(value, "only a condition or an integer is the integer 1")
        sql = value.sql if value.kind == "boolean" else f"{value.sql} = 1"
        return f"coalesce({sql}, false)"

    def value(self, node: exp.Expr) -> _Value:
        operator = OPERATORS.get(type(node))
        if operator is None:
            return _METHODS[type(node)](self, node)
        if operator in {"and", "or"}:
            level = _AND if operator == "and" else _OR
            sides = (
                self.truth(side).at(level) for side in (node.this, node.expression)
            )
            return _Value("boolean", f" {operator} ".join(sides), level)
        left, right = self.value(node.this), self.value(node.expression)
        if operator in {"+", "-", "*"}:
            return self.arithmetic(operator, left, right)
        if operator in {"&", "|", "^"}:
            return self.bit_operation(operator, left, right)
        return self.comparison(operator, left, right)

    def truth(self, node: exp.Expr) -> _Value:
        """Return a value as AND, NOT and IF take it: it is a number other than 0."""
        value = self.value(node)
        if value.kind == "boolean":
            return value
        if value.kind == "null":
            return _NULL_TRUTH
        if value.kind not in _NUMBERS - {"bits"}:
            raise self.fail(value, "only numbers and conditions are true or false")
        return _predicate(f"{self.number(value).sql} <> 0")

    # Columns and literals

    def inside(self, node: exp.Expr) -> _Value:
        return self.value(node.this)

    def column(self, node: exp.Expr) -> _Value:
        column = self.columns.get(node.name.lower())
        if column is None:
            known = ", ".join(f"`{name}`" for name in self.columns)
            raise ValueError(
                f"Expected one of the columns {known}, got `{node.name}`"
                f" - in expression `{self.text}`"
            )
        is_name = _NAME.fullmatch(column.sql) is not None
        sql = column.sql if is_name else f"({column.sql})"
        kind = column.type
        if kind.is_integer or kind.base in {
            "year",
            "bit",
            "decimal",
            "float",
            "double",
        }:
            return self.number_column(kind, sql)
        if kind.is_text or (kind.base in {"enum", "set"} and kind.elements):
            return _Value(
                "text",
                sql,
                collation=column.collation or "utf8mb4_bin",
                base=None if kind.is_text else kind.base,
                members=kind.elements if kind.base == "enum" else (),
            )
        if kind.base == "timestamp":
            sql = f"cast({sql} as timestamp_ntz)"
            if self.time_zone != "UTC":
                sql = f"convert_timezone('UTC', {sql_text(self.time_zone)}, {sql})"
        kinds: dict[str, _Kind] = {
            "date": "date",
            "datetime": "datetime",
            "timestamp": "datetime",
        }
        # BINARY is padded with zero bytes in TiDB, and may be without in a message.
        is_bytes = kind.is_binary and kind.base != "binary"
        return _Value(kinds.get(kind.base, "bytes" if is_bytes else "other"), sql)

    @staticmethod
    def number_column(kind: MySqlType, sql: str) -> _Value:
        if kind.base == "double":
            return _Value("double", sql)
        if kind.base == "float":
            return _Value("double", f"cast({sql} as double)")
        if kind.base == "decimal":
            is_text = kind.length is None or kind.length > _MAX_DIGITS
            digits, scale = kind.length or 0, kind.scale or 0
            return _Value("other" if is_text else "decimal", sql, _ATOM, digits, scale)
        is_bigint = kind.base in {"bigint", "bit"} or (
            kind.base == "int" and kind.unsigned
        )
        return _Value(
            "integer",
            sql,
            digits=_BIGINT_DIGITS if is_bigint else _INT_DIGITS,
            is_wide=(kind.base == "bigint" and kind.unsigned)
            or (kind.base == "bit" and kind.length == 64),
            base=kind.base if kind.base in {"year", "bit"} else None,
        )

    def literal(self, node: exp.Expr) -> _Value:
        if node.is_string:
            return _Value("text", sql_text(node.name), literal=node.name)
        return self.check_literal(_number_literal(node.name))

    def boolean(self, node: exp.Expr) -> _Value:
        return _number_literal("1" if node.this else "0")

    def null(self, _node: exp.Expr) -> _Value:
        return _NULL

    def bits(self, node: exp.Expr) -> _Value:
        base, per_byte = (16, 2) if isinstance(node, exp.HexString) else (2, 8)
        number = int(node.name, base)
        if number >= 1 << 64:
            raise self.fail(node.sql("mysql"), "more than 64 bits")
        size = -(-len(node.name) // per_byte)
        return _Value("bits", f"X'{number:0{size * 2}x}'", literal=str(number))

    def cast(self, node: exp.Expr) -> _Value:
        """Return ``DATE '...'`` and ``TIMESTAMP '...'``."""
        target = node.args["to"].this
        value = self.time_literal(node.this.name) if node.this.is_string else _NULL
        types = exp.DataType.Type
        if target is types.DATE and value.kind == "date":
            return value
        if target in {types.TIMESTAMP, types.TIMESTAMPTZ} and value.kind == "datetime":
            return value
        raise self.fail(node.sql("mysql"), "types are not converted here")

    # Predicates

    def logical_not(self, node: exp.Expr) -> _Value:
        inside = node.this
        if isinstance(inside, exp.Is) and isinstance(inside.expression, exp.Null):
            return _predicate(f"{self.value(inside.this).at(_ATOM)} is not null")
        return _Value("boolean", f"not {self.truth(inside).at(_ATOM)}", _NOT)

    def xor(self, node: exp.Expr) -> _Value:
        sides = (self.truth(side).at(_ATOM) for side in (node.this, node.expression))
        return _predicate(" <> ".join(sides))

    def is_(self, node: exp.Expr) -> _Value:
        if isinstance(node.expression, exp.Null):
            return _predicate(f"{self.value(node.this).at(_ATOM)} is null")
        if not isinstance(node.expression, exp.Boolean):
            raise self.fail(node.sql("mysql"), "IS takes NULL, TRUE, FALSE or UNKNOWN")
        word = "true" if node.expression.this else "false"
        return _predicate(f"{self.truth(node.this).at(_ATOM)} is {word}")

    def in_(self, node: exp.Expr) -> _Value:
        left = self.value(node.this)
        items = [self.value(item) for item in node.expressions]
        present = [item for item in items if item.kind != "null"]
        if left.kind == "null" or not present:
            return _NULL_TRUTH
        pairs = [self.sides(left, item, is_equality=True) for item in present]
        has_null = len(present) < len(items)
        first = pairs[0][0]
        if all(pair[0] == first for pair in pairs) and "collate" not in first:
            listed = [second for _, second in pairs] + ["null"] * has_null
            return _predicate(f"{first} in ({', '.join(listed)})")
        equal = [" = ".join(pair) for pair in pairs] + [_NULL_TRUTH.sql] * has_null
        return _Value("boolean", " or ".join(equal), _OR)

    def between(self, node: exp.Expr) -> _Value:
        value, low, high = (self.value(node.args[n]) for n in ("this", "low", "high"))
        if value.kind in _NUMBERS and "text" in {low.kind, high.kind}:
            raise self.fail(node.sql("mysql"), "a number between texts")
        bounds = (
            self.comparison(">=", value, low).at(_AND),
            self.comparison("<=", value, high).at(_AND),
        )
        return _Value("boolean", " and ".join(bounds), _AND)

    def like(self, node: exp.Expr, escape: str = "\\") -> _Value:
        value, pattern = self.matched(node)
        wanted = _like_pattern(pattern, escape)
        if wanted is None:
            raise self.fail(pattern, "MySQL and TiDB read this escape differently")
        negation = "not " if node.args.get("negate") else ""
        return _predicate(f"{value.sql} {negation}like {sql_text(wanted)}")

    def escape(self, node: exp.Expr) -> _Value:
        like, escape = node.this, node.expression
        is_char = escape.is_string and len(escape.name) == 1 and escape.name not in "%_"
        if not is_char or not isinstance(like, exp.Like):
            raise self.fail(node.sql("mysql"), "ESCAPE takes one character, for LIKE")
        return self.like(like, escape.name)

    def regexp(self, node: exp.Expr) -> _Value:
        value, pattern = self.matched(node)
        try:
            regex = parse_go_regex(pattern)
        except ValueError as error:
            raise self.fail(pattern, str(error)) from error
        return _predicate(f"{value.sql} rlike {sql_text(regex.java)}")

    def matched(self, node: exp.Expr) -> tuple[_Value, str]:
        """Return the text column and the pattern of LIKE or REGEXP."""
        value, pattern = self.value(node.this), self.value(node.expression)
        if value.kind != "text" or self.collation(value) not in _BY_BYTES:
            raise self.fail(value, "patterns are for text that compares by bytes")
        if pattern.kind != "text" or not pattern.literal:
            raise self.fail(pattern, "a pattern is quoted text")
        return value, pattern.literal

    # Numbers

    def numbers(self, left: _Value, right: _Value) -> tuple[_Value, _Value] | None:
        """Return both sides as numbers; ``None`` if one is NULL."""
        if "null" in {left.kind, right.kind}:
            return None
        return self.number(left), self.number(right)

    def arithmetic(self, operator: str, left: _Value, right: _Value) -> _Value:
        numbers = self.numbers(left, right)
        if numbers is None:
            return _NULL
        left, right = numbers
        kinds = {left.kind, right.kind}
        if "double" in kinds:
            sql = f"({self.double(left)} {operator} {self.double(right)})"
            return _Value("double", sql)
        if kinds == {"integer"} and not (left.is_wide or right.is_wide):
            name = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}[operator]
            return _integer(f"{name}({self.bigint(left)}, {self.bigint(right)})")
        if operator == "*":
            digits = left.digits + right.digits + 1
            scale = left.scale + right.scale
        else:
            digits, scale = self.common_digits(left, right)
            digits += 1
        if digits > _MAX_DIGITS or scale > _MAX_SCALE:
            shown = f"{left.sql} {operator} {right.sql}"
            raise self.fail(shown, f"decimals of Spark end at {_MAX_DIGITS} digits")
        kind: _Kind = "decimal" if "decimal" in kinds else "integer"
        sql = f"({left.sql} {operator} {right.sql})"
        return _Value(kind, sql, _ATOM, digits, scale, is_wide=kind == "integer")

    @staticmethod
    def bigint(value: _Value) -> str:
        if value.literal is not None:
            return f"{value.sql}L"
        is_bigint = value.digits == _BIGINT_DIGITS
        return value.sql if is_bigint else f"cast({value.sql} as bigint)"

    def negative(self, node: exp.Expr) -> _Value:
        value = self.value(node.this)
        if value.kind == "null":
            return value
        number = self.number(value)
        if number.literal is None:
            return self.arithmetic("-", _number_literal("0"), number)
        if number.literal.startswith("-"):
            return self.arithmetic("-", _number_literal("0"), number)
        negative = replace(number, sql=f"-{number.sql}", literal=f"-{number.literal}")
        return replace(negative, kind="decimal") if number.is_wide else negative

    def divisor(self, value: _Value, zero: str) -> str:
        """Return a divisor that is null instead of 0, as division then is."""
        sql = self.double(value) if zero == "0D" else value.sql
        is_literal = value.literal is not None and float(value.literal) != 0
        return sql if is_literal else f"nullif({sql}, {zero})"

    def division(self, node: exp.Expr) -> _Value:
        numbers = self.numbers(self.value(node.this), self.value(node.expression))
        if numbers is None:
            return _NULL
        left, right = numbers
        if "double" in {left.kind, right.kind}:
            return _Value(
                "double", f"({self.double(left)} / {self.divisor(right, '0D')})"
            )
        factor = _reciprocal(right)
        if factor is None:
            why = "TiDB cuts the quotient of exact numbers behind some digits"
            raise self.fail(node.sql("mysql"), why)
        product = self.arithmetic("*", left, factor)
        return replace(product, kind="decimal")

    def integer_division(self, node: exp.Expr) -> _Value:
        numbers = self.numbers(self.value(node.this), self.value(node.expression))
        if numbers is None:
            return _NULL
        left, right = numbers
        divisor = int(right.literal) if right.literal and not right.scale else 0
        is_integer = left.kind == right.kind == "integer"
        if not is_integer or left.digits > _BIGINT_DIGITS or divisor < 2:
            raise self.fail(
                node.sql("mysql"), "DIV takes an integer, and a literal above 1"
            )
        return _integer(f"({left.sql} div {right.sql})")

    def remainder(self, node: exp.Expr) -> _Value:
        numbers = self.numbers(self.value(node.this), self.value(node.expression))
        if numbers is None:
            return _NULL
        left, right = numbers
        if "double" in {left.kind, right.kind}:
            return _Value(
                "double", f"({self.double(left)} % {self.divisor(right, '0D')})"
            )
        digits, scale = self.common_digits(left, right)
        kind: _Kind = "decimal" if "decimal" in {left.kind, right.kind} else "integer"
        is_wide = kind == "integer" and (left.is_wide or right.is_wide)
        sql = f"({left.sql} % {self.divisor(right, '0')})"
        return _Value(kind, sql, _ATOM, digits, scale, is_wide)

    # Bits: 64 of them, and the result has no sign

    def bit_operation(self, operator: str, left: _Value, right: _Value) -> _Value:
        numbers = self.numbers(left, right)
        if numbers is None:
            return _NULL
        left, right = numbers
        bits = f"({self.signed(left)} {operator} {self.signed(right)})"
        literals = [int(v.literal) for v in (left, right) if v.literal is not None]
        if operator == "&" and any(0 <= n <= _MAX_BIGINT for n in literals):
            return _integer(bits)
        return _unsigned(bits)

    def signed(self, value: _Value) -> str:
        """Return the 64 bits of an integer as a bigint."""
        if value.kind != "integer":
            raise self.fail(value, "only integers have bits here")
        if value.is_wide:
            wrapped = f"if({value.sql} > {_MAX_BIGINT}, {value.sql} - {_TWO_TO_64}"
            return f"try_cast({wrapped}, {value.sql}) as bigint)"
        return self.bigint(value)

    def bit_not(self, node: exp.Expr) -> _Value:
        value = self.value(node.this)
        if value.kind == "null":
            return value
        return _unsigned(f"(~{self.signed(self.number(value))})")

    def shift(self, node: exp.Expr) -> _Value:
        value, count = self.value(node.this), self.value(node.expression)
        if value.kind == "null":
            return value
        if count.kind != "integer" or count.literal is None or int(count.literal) < 0:
            raise self.fail(count, "bits are shifted by a literal")
        if int(count.literal) > 63:
            return _number_literal("0")
        is_left = isinstance(node, exp.BitwiseLeftShift)
        name = "shiftleft" if is_left else "shiftrightunsigned"
        bits = f"{name}({self.signed(self.number(value))}, {count.sql})"
        return _unsigned(bits) if is_left or count.literal == "0" else _integer(bits)

    # Functions

    def unified(self, values: Sequence[_Value]) -> tuple[_Value, list[str]]:
        """Return values as one type: a value of that type, and their texts."""
        present = [value for value in values if value.kind != "null"]
        kinds = {value.kind for value in present}
        if kinds <= _NUMBERS and len(kinds) > 1:
            present = [self.number(value) for value in present]
            kinds = {value.kind for value in present}
        like = replace(present[0] if present else _NULL, literal=None, base=None)
        texts = [value.sql for value in present]
        if kinds <= {"integer", "decimal"} and present:
            digits, scale = self.common_digits(*present)
            is_wide = any(value.is_wide for value in present)
            kind: _Kind = "decimal" if "decimal" in kinds else "integer"
            like = _Value(kind, "", _ATOM, digits, scale, is_wide and kind == "integer")
        elif "double" in kinds and kinds <= _NUMBERS:
            like = _Value("double", "")
            texts = [self.double(value) for value in present]
        elif kinds == {"text"}:
            like = _Value("text", "", collation=self.collation(*present))
        elif len(kinds) != 1 or kinds & {"other", "bits"}:
            raise self.fail(", ".join(texts), "values of one type are expected")
        if any(value.base == "year" for value in present):
            like = replace(like, base="year")
        found = iter(texts)
        return like, ["null" if v.kind == "null" else next(found) for v in values]

    def coalesce(self, node: exp.Expr) -> _Value:
        values = [self.value(part) for part in (node.this, *node.expressions)]
        like, texts = self.unified(values)
        return replace(like, sql=f"coalesce({', '.join(texts)})", level=_ATOM)

    def if_(self, node: exp.Expr) -> _Value:
        condition = self.truth(node.this).sql
        values = [self.value(node.args[name]) for name in ("true", "false")]
        like, texts = self.unified(values)
        return replace(like, sql=f"if({condition}, {', '.join(texts)})", level=_ATOM)

    def nullif(self, node: exp.Expr) -> _Value:
        left, right = self.value(node.this), self.value(node.expression)
        if left.kind == "null":
            return left
        equal = self.comparison("=", left, right).sql
        sql = f"if({equal}, null, {left.sql})"
        return replace(left, sql=sql, literal=None, level=_ATOM)

    def absolute(self, node: exp.Expr) -> _Value:
        value = self.value(node.this)
        if value.kind == "null":
            return value
        number = self.number(value)
        if number.kind == "integer":
            sql = f"abs(cast({number.sql} as decimal({_BIGINT_DIGITS}, 0)))"
            self.common_digits(number, _integer("", _BIGINT_DIGITS))
            return _integer(sql, wide=True)
        return replace(number, sql=f"abs({number.sql})", literal=None)

    def text_value(self, node: exp.Expr) -> _Value:
        value = self.value(node)
        if value.kind != "text":
            raise self.fail(value, "this function takes text")
        return replace(value, literal=None, base=None, members=())

    def lower(self, node: exp.Expr) -> _Value:
        value = self.text_value(node.this)
        return replace(value, sql=lowered_sql(value.sql, "?\u03c3"))

    def length(self, node: exp.Expr) -> _Value:
        name = "octet_length" if node.args.get("binary") else "char_length"
        return _integer(f"{name}({self.text_value(node.this).sql})", _INT_DIGITS)

    def concat(self, node: exp.Expr) -> _Value:
        values = [self.text_value(part) for part in node.expressions]
        texts = ", ".join(value.sql for value in values)
        return replace(
            values[0], sql=f"concat({texts})", collation=self.collation(*values)
        )

    def substring(self, node: exp.Expr) -> _Value:
        value = self.text_value(node.this)
        arguments = [value.sql, self.count(node.args["start"], 1)]
        if "length" in node.args and node.args["length"] is not None:
            arguments.append(self.count(node.args["length"], 0))
        return replace(value, sql=f"substring({', '.join(arguments)})")

    def end_of_text(self, node: exp.Expr) -> _Value:
        value = self.text_value(node.this)
        name = "left" if isinstance(node, exp.Left) else "right"
        return replace(
            value, sql=f"{name}({value.sql}, {self.count(node.expression, 0)})"
        )

    def count(self, node: exp.Expr, least: int) -> str:
        """Return a literal number of characters."""
        is_count = isinstance(node, exp.Literal) and node.is_int
        if not is_count or not least <= int(node.name) < 1 << 31:
            raise self.fail(node.sql("mysql"), f"expected a literal from {least} on")
        return node.name

    def trim(self, node: exp.Expr) -> _Value:
        value = self.text_value(node.this)
        names = {None: "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
        name = names.get(node.args.get("position"))
        if name is None:
            raise self.fail(node.sql("mysql"), "TRIM cuts spaces off, without options")
        return replace(value, sql=f"{name}({value.sql})")

    def date(self, node: exp.Expr) -> _Value:
        value = self.value(node.this)
        if value.kind not in _TIMES:
            raise self.fail(value, "this function takes a date or time")
        is_date = value.kind == "date"
        return value if is_date else _Value("date", f"cast({value.sql} as date)")

    def part_of_date(self, node: exp.Expr) -> _Value:
        is_year, is_month = isinstance(node, exp.Year), isinstance(node, exp.Month)
        name = "year" if is_year else "month" if is_month else "day"
        inside = node.this
        value = self.date(node if not isinstance(inside, exp.TsOrDsToDate) else inside)
        return _integer(f"{name}({value.sql})", _INT_DIGITS)


def _unsigned(bits: str) -> _Value:
    """Return 64 bits as the number without sign that MySQL takes them for."""
    return _integer(f"if({bits} < 0, {bits} + {_TWO_TO_64}, {bits})", 21, wide=True)


_METHODS: Final[dict[type[exp.Expr], Callable[[_Renderer, exp.Expr], _Value]]] = {
    exp.Paren: _Renderer.inside,
    exp.Column: _Renderer.column,
    exp.Literal: _Renderer.literal,
    exp.Boolean: _Renderer.boolean,
    exp.Null: _Renderer.null,
    exp.HexString: _Renderer.bits,
    exp.BitString: _Renderer.bits,
    exp.Cast: _Renderer.cast,
    exp.Not: _Renderer.logical_not,
    exp.Xor: _Renderer.xor,
    exp.Is: _Renderer.is_,
    exp.In: _Renderer.in_,
    exp.Between: _Renderer.between,
    exp.Like: _Renderer.like,
    exp.Escape: _Renderer.escape,
    exp.RegexpLike: _Renderer.regexp,
    exp.Neg: _Renderer.negative,
    exp.Div: _Renderer.division,
    exp.IntDiv: _Renderer.integer_division,
    exp.Mod: _Renderer.remainder,
    exp.BitwiseNot: _Renderer.bit_not,
    exp.BitwiseLeftShift: _Renderer.shift,
    exp.BitwiseRightShift: _Renderer.shift,
    exp.Coalesce: _Renderer.coalesce,
    exp.If: _Renderer.if_,
    exp.Nullif: _Renderer.nullif,
    exp.Abs: _Renderer.absolute,
    exp.Lower: _Renderer.lower,
    exp.Length: _Renderer.length,
    exp.Concat: _Renderer.concat,
    exp.Substring: _Renderer.substring,
    exp.Left: _Renderer.end_of_text,
    exp.Right: _Renderer.end_of_text,
    exp.Trim: _Renderer.trim,
    exp.Year: _Renderer.part_of_date,
    exp.Month: _Renderer.part_of_date,
    exp.Day: _Renderer.part_of_date,
    exp.DayOfMonth: _Renderer.part_of_date,
    exp.TsOrDsToDate: _Renderer.date,
}
