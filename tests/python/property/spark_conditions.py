"""Conditions of Spark SQL, evaluated without Spark.

Only what rules and expressions of a changefeed are rendered to: it is read by sqlglot's
Spark dialect and evaluated as Spark's documentation says. Regular expressions of Java
are taken for Python's, where the two agree.
"""

import operator
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp

Row = Mapping[str, object]
_BIGINT = range(-(1 << 63), 1 << 63)


def evaluate(sql: str, row: Row) -> object:
    """Return the value of an expression; null is None."""
    return _value(sqlglot.parse_one(sql, read="spark"), row)


def _wrapped(bits: int) -> int:
    return (bits + (1 << 63)) % (1 << 64) - (1 << 63)


def _value(node: exp.Expr, row: Row) -> Any:
    kind = type(node)
    if kind in _PARTS:
        return _PARTS[kind](node, row)
    left, right = _value(node.this, row), _value(node.args["expression"], row)
    if kind is exp.NullSafeEQ:
        return left == right
    return None if left is None or right is None else _OPERATORS[kind](left, right)


def _safely(apply: Callable[[int, int], int]) -> Callable[[int, int], int | None]:
    def result(left: int, right: int) -> int | None:
        number = apply(left, right)
        return number if number in _BIGINT else None

    return result


def python_regex(java: str) -> str:
    """Return a regular expression of Java for Python: only the end of text differs."""
    return re.sub(r"\\(.)", lambda m: r"\Z" if m[1] == "z" else m[0], java, flags=re.S)


def _like(node: exp.Expr, row: Row) -> bool | None:
    text, pattern = _value(node.this, row), _value(node.args["expression"], row)
    pieces = re.findall(r"\\.|.", pattern, re.S)
    assert all(piece[0] != "\\" or piece[1] in "\\%_" for piece in pieces), pattern
    regex = "".join({"%": ".*", "_": "."}.get(p, re.escape(p[-1])) for p in pieces)
    if text is None:
        return None
    return (re.fullmatch(regex, text, re.S) is None) is node.args.get("negate", False)


def _literal(node: exp.Expr, _row: Row) -> object:
    if node.is_string:
        return node.name
    return int(node.name) if node.name.isdigit() else Decimal(node.name)


def _and(node: exp.Expr, row: Row) -> bool | None:
    sides = [_value(node.this, row), _value(node.args["expression"], row)]
    return False if False in sides else None if None in sides else True


def _or(node: exp.Expr, row: Row) -> bool | None:
    sides = [_value(node.this, row), _value(node.args["expression"], row)]
    return True if True in sides else None if None in sides else False


def _not(node: exp.Expr, row: Row) -> bool | None:
    value = _value(node.this, row)
    return None if value is None else not value


def _is(node: exp.Expr, row: Row) -> bool:
    wanted = node.args["expression"]
    return _value(node.this, row) is (
        None if isinstance(wanted, exp.Null) else bool(wanted.this)
    )


def _in(node: exp.Expr, row: Row) -> bool | None:
    value = _value(node.this, row)
    items = [_value(item, row) for item in node.expressions]
    if value is None:
        return None
    return True if value in items else None if None in items else False


def _case(node: exp.Expr, row: Row) -> object:
    for branch in node.args["ifs"]:
        if _value(branch.this, row):
            return _value(branch.args["true"], row)
    default = node.args["default"]
    return None if default is None else _value(default, row)


def _if(node: exp.Expr, row: Row) -> object:
    chosen = "true" if _value(node.this, row) else "false"
    return _value(node.args[chosen], row)


def _coalesce(node: exp.Expr, row: Row) -> object:
    values = (_value(part, row) for part in (node.this, *node.expressions))
    return next((value for value in values if value is not None), None)


def _nullif(node: exp.Expr, row: Row) -> object:
    value = _value(node.this, row)
    return None if value == _value(node.args["expression"], row) else value


def _cast(node: exp.Expr, row: Row) -> object:
    value = _value(node.this, row)
    target = node.args["to"].sql("spark").lower()
    return None if value is None else _CASTS[target.partition("(")[0]](value)


def _integer(value: Any) -> int | None:
    return int(value) if int(value) in _BIGINT else None


def _double(value: Any) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _date(value: Any) -> date:
    return date.fromisoformat(value) if isinstance(value, str) else value.date()


def _timestamp(value: Any) -> datetime:
    if isinstance(value, str):
        return datetime.fromisoformat(value)
    return value if isinstance(value, datetime) else datetime.combine(value, time())


_CASTS: dict[str, Callable[[Any], object]] = {
    "int": _integer,
    "bigint": _integer,
    "decimal": Decimal,
    "double": _double,
    "date": _date,
    "timestamp_ntz": _timestamp,
}


def _unary(function: Callable[[Any], object]) -> Callable[[exp.Expr, Row], object]:
    def apply(node: exp.Expr, row: Row) -> object:
        value = _value(node.this, row)
        return None if value is None else function(value)

    return apply


def _trim(node: exp.Expr, row: Row) -> object:
    value = _value(node.this, row)
    names = {None: str.strip, "LEADING": str.lstrip, "TRAILING": str.rstrip}
    return None if value is None else names[node.args.get("position")](value, " ")


def _translate(node: exp.Expr, row: Row) -> object:
    value = _value(node.this, row)
    table = str.maketrans(node.args["from_"].name, node.args["to"].name)
    return None if value is None else value.translate(table)


def _extract(node: exp.Expr, row: Row) -> object:
    value = _value(node.this, row)
    pattern = re.sub(
        r"\\x\{(\w+)\}", lambda m: chr(int(m[1], 16)), node.expression.name
    )
    found = None if value is None else re.search(pattern, value, re.ASCII)
    return None if value is None else found[1] if found else ""


_OPERATORS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
    exp.IntDiv: lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    exp.Mod: lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
    exp.BitwiseAnd: operator.and_,
    exp.BitwiseOr: operator.or_,
    exp.BitwiseXor: operator.xor,
    exp.BitwiseLeftShift: lambda a, n: _wrapped(a << n),
    exp.SafeAdd: _safely(operator.add),
    exp.SafeSubtract: _safely(operator.sub),
    exp.SafeMultiply: _safely(operator.mul),
    exp.RegexpLike: lambda a, b: re.search(python_regex(b), a) is not None,
}
"""Operators that are null if one of their sides is."""

_PARTS: dict[type[exp.Expr], Callable[[exp.Expr, Row], object]] = {
    exp.Paren: lambda node, row: _value(node.this, row),
    exp.Column: lambda node, row: row[node.name],
    exp.Literal: _literal,
    exp.Boolean: lambda node, _row: bool(node.this),
    exp.Null: lambda _node, _row: None,
    exp.Neg: lambda node, row: -_value(node.this, row),
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Like: _like,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.BitwiseNot: _unary(operator.invert),
    exp.Abs: _unary(abs),
    exp.Lower: _unary(str.lower),
    exp.Length: _unary(len),
    exp.Trim: _trim,
    exp.Translate: _translate,
    exp.RegexpExtract: _extract,
}
