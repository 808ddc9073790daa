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

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from changefold.changefeed.comparisons import Comparer, like_pattern
from changefold.changefeed.go_regex import parse_go_regex
from changefold.changefeed.letter_case import lowered_sql
from changefold.changefeed.predicate_values import (
    AND,
    ATOM,
    BIGINT_DIGITS,
    BY_BYTES,
    INT_DIGITS,
    MAX_BIGINT,
    MAX_DIGITS,
    MAX_SCALE,
    NAME,
    NOT,
    NULL,
    NULL_TRUTH,
    NUMBERS,
    OR,
    TIMES,
    TWO_TO_64,
    Kind,
    SqlOperand,
    boolean_operand,
    integer_operand,
    number_literal,
    reciprocal_text,
)
from changefold.mysql.expressions import OPERATORS, parse_expression
from changefold.spark_text import sql_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from changefold.mysql.types import MySqlType


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


class _Renderer(Comparer):
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

    def value(self, node: exp.Expr) -> SqlOperand:
        operator = OPERATORS.get(type(node))
        if operator is None:
            return _METHODS[type(node)](self, node)
        if operator in {"and", "or"}:
            level = AND if operator == "and" else OR
            sides = (
                self.truth(side).at(level) for side in (node.this, node.expression)
            )
            return SqlOperand("boolean", f" {operator} ".join(sides), level)
        left, right = self.value(node.this), self.value(node.expression)
        if operator in {"+", "-", "*"}:
            return self.arithmetic(operator, left, right)
        if operator in {"&", "|", "^"}:
            return self.bit_operation(operator, left, right)
        return self.comparison(operator, left, right)

    def truth(self, node: exp.Expr) -> SqlOperand:
        """Return a value as AND, NOT and IF take it: it is a number other than 0."""
        value = self.value(node)
        if value.kind == "boolean":
            return value
        if value.kind == "null":
            return NULL_TRUTH
        if value.kind not in NUMBERS - {"bits"}:
            raise self.fail(value, "only numbers and conditions are true or false")
        return boolean_operand(f"{self.number(value).sql} <> 0")

    # Columns and literals

    def inside(self, node: exp.Expr) -> SqlOperand:
        return self.value(node.this)

    def column(self, node: exp.Expr) -> SqlOperand:
        column = self.columns.get(node.name.lower())
        if column is None:
            known = ", ".join(f"`{name}`" for name in self.columns)
            raise ValueError(
                f"Expected one of the columns {known}, got `{node.name}`"
                f" - in expression `{self.text}`"
            )
        is_name = NAME.fullmatch(column.sql) is not None
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
            return SqlOperand(
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
        kinds: dict[str, Kind] = {
            "date": "date",
            "datetime": "datetime",
            "timestamp": "datetime",
        }
        # BINARY is padded with zero bytes in TiDB, and may be without in a message.
        is_bytes = kind.is_binary and kind.base != "binary"
        return SqlOperand(kinds.get(kind.base, "bytes" if is_bytes else "other"), sql)

    @staticmethod
    def number_column(kind: MySqlType, sql: str) -> SqlOperand:
        if kind.base == "double":
            return SqlOperand("double", sql)
        if kind.base == "float":
            return SqlOperand("double", f"cast({sql} as double)")
        if kind.base == "decimal":
            is_text = kind.length is None or kind.length > MAX_DIGITS
            digits, scale = kind.length or 0, kind.scale or 0
            return SqlOperand(
                "other" if is_text else "decimal", sql, ATOM, digits, scale
            )
        is_bigint = kind.base in {"bigint", "bit"} or (
            kind.base == "int" and kind.unsigned
        )
        return SqlOperand(
            "integer",
            sql,
            digits=BIGINT_DIGITS if is_bigint else INT_DIGITS,
            is_wide=(kind.base == "bigint" and kind.unsigned)
            or (kind.base == "bit" and kind.length == 64),
            base=kind.base if kind.base in {"year", "bit"} else None,
        )

    def literal(self, node: exp.Expr) -> SqlOperand:
        if node.is_string:
            return SqlOperand("text", sql_text(node.name), literal=node.name)
        return self.check_literal(number_literal(node.name))

    def boolean(self, node: exp.Expr) -> SqlOperand:
        return number_literal("1" if node.this else "0")

    def null(self, _node: exp.Expr) -> SqlOperand:
        return NULL

    def bits(self, node: exp.Expr) -> SqlOperand:
        base, per_byte = (16, 2) if isinstance(node, exp.HexString) else (2, 8)
        number = int(node.name, base)
        if number >= 1 << 64:
            raise self.fail(node.sql("mysql"), "more than 64 bits")
        size = -(-len(node.name) // per_byte)
        return SqlOperand("bits", f"X'{number:0{size * 2}x}'", literal=str(number))

    def cast(self, node: exp.Expr) -> SqlOperand:
        """Return ``DATE '...'`` and ``TIMESTAMP '...'``."""
        target = node.args["to"].this
        value = self.time_literal(node.this.name) if node.this.is_string else NULL
        types = exp.DataType.Type
        if target is types.DATE and value.kind == "date":
            return value
        if target in {types.TIMESTAMP, types.TIMESTAMPTZ} and value.kind == "datetime":
            return value
        raise self.fail(node.sql("mysql"), "types are not converted here")

    # Predicates

    def logical_not(self, node: exp.Expr) -> SqlOperand:
        inside = node.this
        if isinstance(inside, exp.Is) and isinstance(inside.expression, exp.Null):
            return boolean_operand(f"{self.value(inside.this).at(ATOM)} is not null")
        return SqlOperand("boolean", f"not {self.truth(inside).at(ATOM)}", NOT)

    def xor(self, node: exp.Expr) -> SqlOperand:
        sides = (self.truth(side).at(ATOM) for side in (node.this, node.expression))
        return boolean_operand(" <> ".join(sides))

    def is_(self, node: exp.Expr) -> SqlOperand:
        if isinstance(node.expression, exp.Null):
            return boolean_operand(f"{self.value(node.this).at(ATOM)} is null")
        if not isinstance(node.expression, exp.Boolean):
            raise self.fail(node.sql("mysql"), "IS takes NULL, TRUE, FALSE or UNKNOWN")
        word = "true" if node.expression.this else "false"
        return boolean_operand(f"{self.truth(node.this).at(ATOM)} is {word}")

    def in_(self, node: exp.Expr) -> SqlOperand:
        left = self.value(node.this)
        items = [self.value(item) for item in node.expressions]
        present = [item for item in items if item.kind != "null"]
        if left.kind == "null" or not present:
            return NULL_TRUTH
        pairs = [self.sides(left, item, is_equality=True) for item in present]
        has_null = len(present) < len(items)
        first = pairs[0][0]
        if all(pair[0] == first for pair in pairs) and "collate" not in first:
            listed = [second for _, second in pairs] + ["null"] * has_null
            return boolean_operand(f"{first} in ({', '.join(listed)})")
        equal = [" = ".join(pair) for pair in pairs] + [NULL_TRUTH.sql] * has_null
        return SqlOperand("boolean", " or ".join(equal), OR)

    def between(self, node: exp.Expr) -> SqlOperand:
        value, low, high = (self.value(node.args[n]) for n in ("this", "low", "high"))
        if value.kind in NUMBERS and "text" in {low.kind, high.kind}:
            raise self.fail(node.sql("mysql"), "a number between texts")
        bounds = (
            self.comparison(">=", value, low).at(AND),
            self.comparison("<=", value, high).at(AND),
        )
        return SqlOperand("boolean", " and ".join(bounds), AND)

    def like(self, node: exp.Expr, escape: str = "\\") -> SqlOperand:
        value, pattern = self.matched(node)
        wanted = like_pattern(pattern, escape)
        if wanted is None:
            raise self.fail(pattern, "MySQL and TiDB read this escape differently")
        negation = "not " if node.args.get("negate") else ""
        return boolean_operand(f"{value.sql} {negation}like {sql_text(wanted)}")

    def escape(self, node: exp.Expr) -> SqlOperand:
        like, escape = node.this, node.expression
        is_char = escape.is_string and len(escape.name) == 1 and escape.name not in "%_"
        if not is_char or not isinstance(like, exp.Like):
            raise self.fail(node.sql("mysql"), "ESCAPE takes one character, for LIKE")
        return self.like(like, escape.name)

    def regexp(self, node: exp.Expr) -> SqlOperand:
        value, pattern = self.matched(node)
        try:
            regex = parse_go_regex(pattern)
        except ValueError as error:
            raise self.fail(pattern, str(error)) from error
        return boolean_operand(f"{value.sql} rlike {sql_text(regex.java)}")

    def matched(self, node: exp.Expr) -> tuple[SqlOperand, str]:
        """Return the text column and the pattern of LIKE or REGEXP."""
        value, pattern = self.value(node.this), self.value(node.expression)
        if value.kind != "text" or self.collation(value) not in BY_BYTES:
            raise self.fail(value, "patterns are for text that compares by bytes")
        if pattern.kind != "text" or not pattern.literal:
            raise self.fail(pattern, "a pattern is quoted text")
        return value, pattern.literal

    # Numbers

    def numbers(
        self, left: SqlOperand, right: SqlOperand
    ) -> tuple[SqlOperand, SqlOperand] | None:
        """Return both sides as numbers; ``None`` if one is NULL."""
        if "null" in {left.kind, right.kind}:
            return None
        return self.number(left), self.number(right)

    def arithmetic(
        self, operator: str, left: SqlOperand, right: SqlOperand
    ) -> SqlOperand:
        numbers = self.numbers(left, right)
        if numbers is None:
            return NULL
        left, right = numbers
        kinds = {left.kind, right.kind}
        if "double" in kinds:
            sql = f"({self.double(left)} {operator} {self.double(right)})"
            return SqlOperand("double", sql)
        if kinds == {"integer"} and not (left.is_wide or right.is_wide):
            name = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}[operator]
            return integer_operand(f"{name}({self.bigint(left)}, {self.bigint(right)})")
        if operator == "*":
            digits = left.digits + right.digits + 1
            scale = left.scale + right.scale
        else:
            digits, scale = self.common_digits(left, right)
            digits += 1
        if digits > MAX_DIGITS or scale > MAX_SCALE:
            shown = f"{left.sql} {operator} {right.sql}"
            raise self.fail(shown, f"decimals of Spark end at {MAX_DIGITS} digits")
        kind: Kind = "decimal" if "decimal" in kinds else "integer"
        sql = f"({left.sql} {operator} {right.sql})"
        return SqlOperand(kind, sql, ATOM, digits, scale, is_wide=kind == "integer")

    @staticmethod
    def bigint(value: SqlOperand) -> str:
        if value.literal is not None:
            return f"{value.sql}L"
        is_bigint = value.digits == BIGINT_DIGITS
        return value.sql if is_bigint else f"cast({value.sql} as bigint)"

    def negative(self, node: exp.Expr) -> SqlOperand:
        value = self.value(node.this)
        if value.kind == "null":
            return value
        number = self.number(value)
        if number.literal is None:
            return self.arithmetic("-", number_literal("0"), number)
        if number.literal.startswith("-"):
            return self.arithmetic("-", number_literal("0"), number)
        negative = replace(number, sql=f"-{number.sql}", literal=f"-{number.literal}")
        return replace(negative, kind="decimal") if number.is_wide else negative

    def divisor(self, value: SqlOperand, zero: str) -> str:
        """Return a divisor that is null instead of 0, as division then is."""
        sql = self.double(value) if zero == "0D" else value.sql
        is_literal = value.literal is not None and float(value.literal) != 0
        return sql if is_literal else f"nullif({sql}, {zero})"

    def division(self, node: exp.Expr) -> SqlOperand:
        numbers = self.numbers(self.value(node.this), self.value(node.expression))
        if numbers is None:
            return NULL
        left, right = numbers
        if "double" in {left.kind, right.kind}:
            return SqlOperand(
                "double", f"({self.double(left)} / {self.divisor(right, '0D')})"
            )
        factor = reciprocal_text(right)
        if factor is None:
            why = "TiDB cuts the quotient of exact numbers behind some digits"
            raise self.fail(node.sql("mysql"), why)
        product = self.arithmetic("*", left, factor)
        return replace(product, kind="decimal")

    def integer_division(self, node: exp.Expr) -> SqlOperand:
        numbers = self.numbers(self.value(node.this), self.value(node.expression))
        if numbers is None:
            return NULL
        left, right = numbers
        divisor = int(right.literal) if right.literal and not right.scale else 0
        is_integer = left.kind == right.kind == "integer"
        if not is_integer or left.digits > BIGINT_DIGITS or divisor < 2:
            raise self.fail(
                node.sql("mysql"), "DIV takes an integer, and a literal above 1"
            )
        return integer_operand(f"({left.sql} div {right.sql})")

    def remainder(self, node: exp.Expr) -> SqlOperand:
        numbers = self.numbers(self.value(node.this), self.value(node.expression))
        if numbers is None:
            return NULL
        left, right = numbers
        if "double" in {left.kind, right.kind}:
            return SqlOperand(
                "double", f"({self.double(left)} % {self.divisor(right, '0D')})"
            )
        digits, scale = self.common_digits(left, right)
        kind: Kind = "decimal" if "decimal" in {left.kind, right.kind} else "integer"
        is_wide = kind == "integer" and (left.is_wide or right.is_wide)
        sql = f"({left.sql} % {self.divisor(right, '0')})"
        return SqlOperand(kind, sql, ATOM, digits, scale, is_wide)

    # Bits: 64 of them, and the result has no sign

    def bit_operation(
        self, operator: str, left: SqlOperand, right: SqlOperand
    ) -> SqlOperand:
        numbers = self.numbers(left, right)
        if numbers is None:
            return NULL
        left, right = numbers
        bits = f"({self.signed(left)} {operator} {self.signed(right)})"
        literals = [int(v.literal) for v in (left, right) if v.literal is not None]
        if operator == "&" and any(0 <= n <= MAX_BIGINT for n in literals):
            return integer_operand(bits)
        return _unsigned(bits)

    def signed(self, value: SqlOperand) -> str:
        """Return the 64 bits of an integer as a bigint."""
        if value.kind != "integer":
            raise self.fail(value, "only integers have bits here")
        if value.is_wide:
            wrapped = f"if({value.sql} > {MAX_BIGINT}, {value.sql} - {TWO_TO_64}"
            return f"try_cast({wrapped}, {value.sql}) as bigint)"
        return self.bigint(value)

    def bit_not(self, node: exp.Expr) -> SqlOperand:
        value = self.value(node.this)
        if value.kind == "null":
            return value
        return _unsigned(f"(~{self.signed(self.number(value))})")

    def shift(self, node: exp.Expr) -> SqlOperand:
        value, count = self.value(node.this), self.value(node.expression)
        if value.kind == "null":
            return value
        if count.kind != "integer" or count.literal is None or int(count.literal) < 0:
            raise self.fail(count, "bits are shifted by a literal")
        if int(count.literal) > 63:
            return number_literal("0")
        is_left = isinstance(node, exp.BitwiseLeftShift)
        name = "shiftleft" if is_left else "shiftrightunsigned"
        bits = f"{name}({self.signed(self.number(value))}, {count.sql})"
        return (
            _unsigned(bits)
            if is_left or count.literal == "0"
            else integer_operand(bits)
        )

    # Functions

    def unified(self, values: Sequence[SqlOperand]) -> tuple[SqlOperand, list[str]]:
        """Return values as one type: a value of that type, and their texts."""
        present = [value for value in values if value.kind != "null"]
        kinds = {value.kind for value in present}
        if kinds <= NUMBERS and len(kinds) > 1:
            present = [self.number(value) for value in present]
            kinds = {value.kind for value in present}
        like = replace(present[0] if present else NULL, literal=None, base=None)
        texts = [value.sql for value in present]
        if kinds <= {"integer", "decimal"} and present:
            digits, scale = self.common_digits(*present)
            is_wide = any(value.is_wide for value in present)
            kind: Kind = "decimal" if "decimal" in kinds else "integer"
            like = SqlOperand(
                kind, "", ATOM, digits, scale, is_wide and kind == "integer"
            )
        elif "double" in kinds and kinds <= NUMBERS:
            like = SqlOperand("double", "")
            texts = [self.double(value) for value in present]
        elif kinds == {"text"}:
            like = SqlOperand("text", "", collation=self.collation(*present))
        elif len(kinds) != 1 or kinds & {"other", "bits"}:
            raise self.fail(", ".join(texts), "values of one type are expected")
        if any(value.base == "year" for value in present):
            like = replace(like, base="year")
        found = iter(texts)
        return like, ["null" if v.kind == "null" else next(found) for v in values]

    def coalesce(self, node: exp.Expr) -> SqlOperand:
        values = [self.value(part) for part in (node.this, *node.expressions)]
        like, texts = self.unified(values)
        return replace(like, sql=f"coalesce({', '.join(texts)})", level=ATOM)

    def if_(self, node: exp.Expr) -> SqlOperand:
        condition = self.truth(node.this).sql
        values = [self.value(node.args[name]) for name in ("true", "false")]
        like, texts = self.unified(values)
        return replace(like, sql=f"if({condition}, {', '.join(texts)})", level=ATOM)

    def nullif(self, node: exp.Expr) -> SqlOperand:
        left, right = self.value(node.this), self.value(node.expression)
        if left.kind == "null":
            return left
        equal = self.comparison("=", left, right).sql
        sql = f"if({equal}, null, {left.sql})"
        return replace(left, sql=sql, literal=None, level=ATOM)

    def absolute(self, node: exp.Expr) -> SqlOperand:
        value = self.value(node.this)
        if value.kind == "null":
            return value
        number = self.number(value)
        if number.kind == "integer":
            sql = f"abs(cast({number.sql} as decimal({BIGINT_DIGITS}, 0)))"
            self.common_digits(number, integer_operand("", BIGINT_DIGITS))
            return integer_operand(sql, wide=True)
        return replace(number, sql=f"abs({number.sql})", literal=None)

    def text_value(self, node: exp.Expr) -> SqlOperand:
        value = self.value(node)
        if value.kind != "text":
            raise self.fail(value, "this function takes text")
        return replace(value, literal=None, base=None, members=())

    def lower(self, node: exp.Expr) -> SqlOperand:
        value = self.text_value(node.this)
        return replace(value, sql=lowered_sql(value.sql, "?\u03c3"))

    def length(self, node: exp.Expr) -> SqlOperand:
        name = "octet_length" if node.args.get("binary") else "char_length"
        return integer_operand(f"{name}({self.text_value(node.this).sql})", INT_DIGITS)

    def concat(self, node: exp.Expr) -> SqlOperand:
        values = [self.text_value(part) for part in node.expressions]
        texts = ", ".join(value.sql for value in values)
        return replace(
            values[0], sql=f"concat({texts})", collation=self.collation(*values)
        )

    def substring(self, node: exp.Expr) -> SqlOperand:
        value = self.text_value(node.this)
        arguments = [value.sql, self.count(node.args["start"], 1)]
        if "length" in node.args and node.args["length"] is not None:
            arguments.append(self.count(node.args["length"], 0))
        return replace(value, sql=f"substring({', '.join(arguments)})")

    def end_of_text(self, node: exp.Expr) -> SqlOperand:
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

    def trim(self, node: exp.Expr) -> SqlOperand:
        value = self.text_value(node.this)
        names = {None: "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
        name = names.get(node.args.get("position"))
        if name is None:
            raise self.fail(node.sql("mysql"), "TRIM cuts spaces off, without options")
        return replace(value, sql=f"{name}({value.sql})")

    def date(self, node: exp.Expr) -> SqlOperand:
        value = self.value(node.this)
        if value.kind not in TIMES:
            raise self.fail(value, "this function takes a date or time")
        is_date = value.kind == "date"
        return value if is_date else SqlOperand("date", f"cast({value.sql} as date)")

    def part_of_date(self, node: exp.Expr) -> SqlOperand:
        is_year, is_month = isinstance(node, exp.Year), isinstance(node, exp.Month)
        name = "year" if is_year else "month" if is_month else "day"
        inside = node.this
        value = self.date(node if not isinstance(inside, exp.TsOrDsToDate) else inside)
        return integer_operand(f"{name}({value.sql})", INT_DIGITS)


def _unsigned(bits: str) -> SqlOperand:
    """Return 64 bits as the number without sign that MySQL takes them for."""
    return integer_operand(
        f"if({bits} < 0, {bits} + {TWO_TO_64}, {bits})", 21, wide=True
    )


_METHODS: Final[dict[type[exp.Expr], Callable[[_Renderer, exp.Expr], SqlOperand]]] = {
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
