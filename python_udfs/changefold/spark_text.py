"""Texts as literals of Spark SQL."""

__all__ = ["sql_text"]


def sql_text(text: str) -> str:
    r"""Return ``text`` as a literal, as the macro ``sql_text`` writes it.

    Args:
        text: Any text.

    Returns:
        The literal with its quotes. Quotes and backslashes are escaped, and so is
        ``${``, which Spark takes for one of its variables even inside a literal.
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("${", "$\\{") + "'"
