"""Comparisons of two values, as TiDB makes them."""

from __future__ import annotations

import datetime as dt

from changefold.changefeed.predicate_values import (
    ATOM,
    BY_BYTES,
    BY_LETTERS,
    DATE,
    LEADING_NUMBER,
    MAX_DIGITS,
    MAX_SCALE,
    NULL_TRUTH,
    NUMBERS,
    PADDED,
    PADDED_CI,
    PLAIN_NUMBER,
    PRINTABLE,
    TIME,
    TIMES,
    SqlOperand,
    boolean_operand,
    integer_operand,
    number_literal,
)
from changefold.mysql.expressions import refused
from changefold.spark_text import sql_text


class Comparer:
    """Writes values so that Spark compares them as TiDB does."""

    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, part: SqlOperand | str, why: str) -> ValueError:
        """Return the error that a part of the condition can not be said in SQL."""
        return refused(self.text, part if isinstance(part, str) else part.sql, why)

    def comparison(
        self, operator: str, left: SqlOperand, right: SqlOperand
    ) -> SqlOperand:
        """Return whether two values compare so."""
        if "null" in {left.kind, right.kind}:
            if operator != "<=>":
                return NULL_TRUTH
            value = right if left.kind == "null" else left
            return boolean_operand(f"{value.at(ATOM)} is null")
        is_equality = operator in {"=", "<>", "<=>"}
        sides = self.sides(left, right, is_equality=is_equality)
        return boolean_operand(f" {operator} ".join(sides))

    def sides(
        self, left: SqlOperand, right: SqlOperand, *, is_equality: bool
    ) -> tuple[str, str]:
        """Return both sides of a comparison."""
        self.check_year(left, right)
        self.check_year(right, left)
        kinds = {left.kind, right.kind}
        if kinds == {"text"}:
            return self.text_sides(left, right, is_equality=is_equality)
        if kinds <= NUMBERS | {"text"} and kinds != {"bits", "text"}:
            return self.number_sides(left, right)
        if kinds & TIMES and kinds <= TIMES | {"text"}:
            return self.time_sides(left, right)
        if "bytes" in kinds and kinds <= {"bytes", "bits", "text"}:
            return self.bytes_side(left), self.bytes_side(right)
        raise self.fail(
            f"{left.sql}, {right.sql}", "values of such types do not compare"
        )

    def check_year(self, year: SqlOperand, other: SqlOperand) -> None:
        """Refuse to compare a YEAR with a literal that it can not hold."""
        if year.base != "year" or other.literal is None:
            return
        if PLAIN_NUMBER.fullmatch(other.literal) and abs(float(other.literal)) < 100:
            raise self.fail(other, "TiDB takes it for a year of two digits")

    # Numbers

    def number(self, value: SqlOperand) -> SqlOperand:
        """Return what arithmetic takes a value for."""
        if value.kind == "boolean":
            return integer_operand(f"cast({value.sql} as int)", 1)
        if value.kind == "bits":
            return number_literal(value.literal or "0")
        if value.kind in NUMBERS:
            return value
        if value.kind != "text" or value.literal is not None or value.base:
            raise self.fail(value, "it is no number")
        number = f"regexp_extract({value.sql}, {sql_text(LEADING_NUMBER)}, 1)"
        number = f"coalesce(try_cast({number} as double), 0D)"
        return SqlOperand("double", f"if({value.sql} is null, null, {number})")

    def compared_number(self, value: SqlOperand) -> SqlOperand:
        """Return what a value is when it is compared with a number."""
        if value.kind == "text" and value.literal is not None:
            found = PLAIN_NUMBER.fullmatch(value.literal)
            if found is None:
                raise self.fail(value, "it is no plain number")
            return self.check_literal(number_literal("".join(found.groups())))
        if value.base == "enum" and "" not in value.members:
            names = ", ".join(map(sql_text, value.members))
            return integer_operand(f"array_position(array({names}), {value.sql})")
        return self.number(value)

    def check_literal(self, value: SqlOperand) -> SqlOperand:
        """Refuse a number that has more digits than Spark holds."""
        if value.digits > MAX_DIGITS or value.scale > MAX_SCALE:
            raise self.fail(value, "too many digits")
        return value

    def number_sides(self, left: SqlOperand, right: SqlOperand) -> tuple[str, str]:
        """Return both sides as numbers of one type."""
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
    def double(value: SqlOperand) -> str:
        """Return a number as a double."""
        if value.kind == "double":
            return value.sql
        if value.literal is not None:
            return f"{value.sql}D"
        return f"cast({value.sql} as double)"

    def common_digits(self, *values: SqlOperand) -> tuple[int, int]:
        """Return digits and scale that hold all values; refuse too many."""
        scale = max(value.scale for value in values)
        digits = max(value.digits - value.scale for value in values) + scale
        if digits > MAX_DIGITS:
            shown = ", ".join(value.sql for value in values)
            raise self.fail(shown, f"decimals of Spark end at {MAX_DIGITS} digits")
        return digits, scale

    # Times

    def time_sides(self, left: SqlOperand, right: SqlOperand) -> tuple[str, str]:
        """Return both sides as times of one type."""
        left, right = self.time(left), self.time(right)
        if left.kind == right.kind:
            return left.sql, right.sql
        return self.datetime(left), self.datetime(right)

    def time(self, value: SqlOperand) -> SqlOperand:
        """Return a value as a time."""
        if value.kind in TIMES:
            return value
        if value.literal is None:
            raise self.fail(value, "a time compares with a quoted time only")
        return self.time_literal(value.literal)

    def time_literal(self, text: str) -> SqlOperand:
        """Return a quoted date or time, of the usual form only."""
        found = TIME.fullmatch(text)
        if found is None and DATE.fullmatch(text) is None:
            raise self.fail(
                text, "a time is `2024-01-31` or `2024-01-31 12:00:00.5` here"
            )
        try:
            dt.datetime.fromisoformat(f"{found[1]} {found[2][:8]}" if found else text)
        except ValueError as error:
            raise self.fail(text, "no calendar has it") from error
        if found is None:
            return SqlOperand("date", f"date{sql_text(text)}", literal=text)
        clock = sql_text(f"{found[1]} {found[2]}")
        return SqlOperand("datetime", f"timestamp_ntz{clock}")

    @staticmethod
    def datetime(value: SqlOperand) -> str:
        """Return a time as a date with a time."""
        if value.kind == "datetime":
            return value.sql
        if value.literal is not None:
            return f"timestamp_ntz{sql_text(f'{value.literal} 00:00:00')}"
        return f"cast({value.sql} as timestamp_ntz)"

    # Text and bytes

    def bytes_side(self, value: SqlOperand) -> str:
        """Return a value as bytes."""
        if value.kind != "text":
            return value.sql
        if value.literal is None:
            raise self.fail(value, "bytes compare with quoted text only")
        return f"X'{value.literal.encode().hex()}'"

    def text_sides(
        self, left: SqlOperand, right: SqlOperand, *, is_equality: bool
    ) -> tuple[str, str]:
        """Return both sides as text that compares as the collation does."""
        collation = self.collation(left, right)
        both = f"{left.sql}, {right.sql}"
        if collation not in BY_BYTES | BY_LETTERS:
            raise self.fail(both, f"collation `{collation}` is not known here")
        if collation in BY_LETTERS:
            literal = left.literal if right.literal is None else right.literal
            if not is_equality or literal is None or not PRINTABLE.fullmatch(literal):
                why = "is exact enough for `=`, `<>`, `<=>` and IN with ASCII text only"
                raise self.fail(both, f"collation `{collation}` {why}")
        is_padded = collation in PADDED | PADDED_CI
        first, second = (
            _trimmed(value) if is_padded else value.sql for value in (left, right)
        )
        if collation in BY_LETTERS:
            first = f"{first} collate UNICODE_CI_AI"
        return first, second

    def collation(self, *values: SqlOperand) -> str:
        """Return the one collation by which texts compare."""
        names = {value.collation for value in values if value.collation is not None}
        if len(names) != 1:
            why = "their collations differ" if names else "there is no column"
            raise self.fail(", ".join(value.sql for value in values), why)
        return names.pop()


def _trimmed(value: SqlOperand) -> str:
    """Return a text without trailing spaces, which PAD SPACE does not compare."""
    if value.literal is not None:
        return sql_text(value.literal.rstrip(" "))
    return f"rtrim({value.sql})"


def like_pattern(pattern: str, escape: str) -> str | None:
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
