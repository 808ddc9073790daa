"""Read an expression of MySQL, and refuse what has no certain value.

``sqlglot`` parses it. Only what is listed here may stand in it: columns, literals,
operators, and functions whose result depends on their arguments alone.

Source: MySQL 8.0 reference manual, 11 "Language Structure" and 14 "Functions and
Operators".
"""

from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import SqlglotError

__all__ = ["OPERATORS", "parse_expression", "refused"]

OPERATORS: Final[dict[type[exp.Expr], str]] = {
    exp.And: "and",
    exp.Or: "or",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.NullSafeEQ: "<=>",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
}
"""Operators of two sides that Spark writes alike."""

_PARTS: Final[dict[type[exp.Expr], set[str]]] = {
    **{operator: {"this", "expression"} for operator in OPERATORS},
    exp.Xor: {"this", "expression"},
    exp.Div: {"this", "expression", "safe", "typed"},
    exp.IntDiv: {"this", "expression"},
    exp.Mod: {"this", "expression"},
    exp.BitwiseLeftShift: {"this", "expression"},
    exp.BitwiseRightShift: {"this", "expression"},
    exp.Paren: {"this"},
    exp.Neg: {"this"},
    exp.Not: {"this"},
    exp.BitwiseNot: {"this"},
    exp.Is: {"this", "expression"},
    exp.In: {"this", "expressions"},
    exp.Between: {"this", "low", "high"},
    exp.Like: {"this", "expression", "negate"},
    exp.Escape: {"this", "expression"},
    exp.RegexpLike: {"this", "expression"},
    exp.Column: {"this"},
    exp.Identifier: {"this", "quoted"},
    exp.Literal: {"this", "is_string"},
    exp.Boolean: {"this"},
    exp.Null: set(),
    exp.HexString: {"this", "is_integer"},
    exp.BitString: {"this"},
    exp.Cast: {"this", "to"},
    exp.DataType: {"this", "nested"},
    exp.Coalesce: {"this", "expressions"},
    exp.If: {"this", "true", "false"},
    exp.Nullif: {"this", "expression"},
    exp.Abs: {"this"},
    exp.Lower: {"this"},
    exp.Length: {"this", "binary"},
    exp.Concat: {"expressions", "safe", "coalesce"},
    exp.Substring: {"this", "start", "length"},
    exp.Left: {"this", "expression"},
    exp.Right: {"this", "expression"},
    exp.Trim: {"this", "position"},
    exp.Year: {"this"},
    exp.Month: {"this"},
    exp.Day: {"this"},
    exp.DayOfMonth: {"this"},
    exp.TsOrDsToDate: {"this"},
}
"""What may stand in an expression, each with the parts that count."""

_REASONS: Final[tuple[tuple[type[exp.Expr], str], ...]] = (
    (exp.Window, "a window function"),
    (exp.AggFunc, "an aggregate"),
    (exp.Parameter, "a variable"),
    (exp.SessionParameter, "a variable"),
    (exp.Placeholder, "a parameter"),
    (exp.Upper, "Spark writes some letters, such as `ß`, otherwise than TiDB"),
    (exp.Column, "a column is named without its table"),
    (exp.Func, "it may not give the same in Spark, or not the same each time"),
)


def parse_expression(text: str) -> exp.Expr:
    """Read an expression.

    Args:
        text: What may follow WHERE.

    Returns:
        The tree of sqlglot, of the nodes that are known here only.

    Raises:
        ValueError: If it is no expression of MySQL, or holds what is not known: a
            subquery, an aggregate, a variable, a function whose result may differ.
    """
    try:
        tokens = MySQL.Tokenizer().tokenize(text)
        # In parentheses no word is taken for the beginning of a statement.
        root = sqlglot.parse_one(f"({text}\n)", read="mysql")
    except SqlglotError as error:
        what = str(error).split("\n", maxsplit=1)[0]
        raise ValueError(f"Expected an expression, got `{text}`: {what}") from error
    if any(token.comments for token in tokens):
        raise refused(text, text, "a comment may hold code that TiDB executes")
    if any(token.text == "==" for token in tokens):
        raise refused(text, "==", "it is `=` in MySQL")
    if type(root) is not exp.Paren:
        raise ValueError(f"Expected one expression, got `{text}`")
    for node in root.walk():
        known = _PARTS.get(type(node))
        used = {name for name, part in node.args.items() if part not in (None, False)}
        if known is None or used - known - {"_type"} or _is_malformed(node):
            reasons = (why for kind, why in _REASONS if isinstance(node, kind))
            is_query = node.find(exp.Query) is not None
            why = "a subquery" if is_query else next(reasons, "it is not supported")
            raise refused(text, node.sql("mysql"), why)
    inside: exp.Expr = root.this
    return inside


def refused(text: str, part: str, why: str) -> ValueError:
    """Return the error for a part of an expression.

    Args:
        text: The expression.
        part: The part.
        why: Reason, without a full stop.
    """
    return ValueError(
        f"Expected what gives the same in Spark, got `{part}`: {why}"
        f" - in expression `{text}`"
    )


def _is_malformed(node: exp.Expr) -> bool:
    """Tell what sqlglot takes and MySQL does not."""
    if isinstance(node, exp.If):
        return node.args.get("false") is None
    if isinstance(node, exp.In):
        return not node.expressions
    return isinstance(node, exp.Column) and not isinstance(node.this, exp.Identifier)
