import pytest

from changefold.mysql.types import (
    decode_mysql_string,
    parse_mysql_type,
    quote_mysql_string,
)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("INTEGER", "int"),
        ("int(11)", "int"),
        ("bigint(20) unsigned", "bigint unsigned"),
        ("int8", "bigint"),
        ("middleint", "mediumint"),
        ("tinyint(4)", "tinyint"),
        ("tinyint(1)", "tinyint(1)"),
        ("BOOL", "tinyint(1)"),
        ("boolean", "tinyint(1)"),
        ("int(8) unsigned zerofill", "int(8) unsigned zerofill"),
        ("int zerofill", "int(10) unsigned zerofill"),
        ("serial", "bigint unsigned"),
        ("numeric", "decimal(10,0)"),
        ("dec(5)", "decimal(5,0)"),
        ("decimal(14,4) unsigned", "decimal(14,4) unsigned"),
        ("real", "double"),
        ("double precision", "double"),
        ("float(24)", "float"),
        ("float(25)", "double"),
        ("float(10,2)", "float(10,2)"),
        ("bit", "bit(1)"),
        ("char", "char(1)"),
        ("binary", "binary(1)"),
        ("character varying(20)", "varchar(20)"),
        ("NATIONAL CHAR VARYING (20)", "varchar(20)"),
        ("nchar(4)", "char(4)"),
        ("long varbinary", "mediumblob"),
        ("text(10)", "tinytext"),
        ("text(100)", "text"),
        ("blob(70000)", "mediumblob"),
        ("varchar(9) character set binary", "varbinary(9)"),
        ("text charset binary", "blob"),
        ("char(9) byte", "binary(9)"),
        ("varchar(9) charset utf8mb4 collate utf8mb4_bin", "varchar(9)"),
        ("varchar(9) binary", "varchar(9)"),
        ("year(4)", "year"),
        ("timestamp(0)", "timestamp"),
        ("datetime(3)", "datetime(3)"),
        ("VECTOR<FLOAT>(3)", "vector(3)"),
        ("enum('a','it''s')", "enum('a','it''s')"),
        (r"enum('it\'s','b\\c')", r"enum('it''s','b\\c')"),
        ("set('a ','b')", "set('a','b')"),
        ("geometry", "geometry"),
    ],
)
def test_a_type_has_one_canonical_text_that_reads_back(
    written: str, canonical: str
) -> None:
    mysql_type = parse_mysql_type(written)
    assert str(mysql_type) == canonical
    assert parse_mysql_type(canonical) == mysql_type


@pytest.mark.parametrize("base", ["varchar", "char", "bit", "decimal", "enum", "set"])
def test_a_message_that_leaves_lengths_out_leaves_them_unknown(base: str) -> None:
    mysql_type = parse_mysql_type(base, declared=False)
    assert (mysql_type.length, mysql_type.scale) == (None, None)
    assert str(mysql_type) == base


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "Expected the name of a type"),
        ("weird", "Expected a MySQL type, got `weird`"),
        ("int(", "Expected a number"),
        ("int x", "Expected an attribute, got `x`"),
        ("enum", "Expected the members"),
        ("enum('a'", "Expected `\\)`"),
        ("varchar(9) unsigned", "Expected no sign of `varchar`"),
    ],
)
def test_what_is_no_type_is_refused_with_a_sentence(written: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_mysql_type(written)


@pytest.mark.parametrize(
    ("column_type", "bounds"),
    [
        ("tinyint", (-128, 127)),
        ("smallint unsigned", (0, 65535)),
        ("mediumint", (-8388608, 8388607)),
        ("bigint unsigned", (0, 18446744073709551615)),
    ],
)
def test_an_integer_type_knows_its_range(
    column_type: str, bounds: tuple[int, int]
) -> None:
    assert parse_mysql_type(column_type).integer_range == bounds


def test_only_integers_have_an_integer_range() -> None:
    with pytest.raises(ValueError, match="Expected an integer type, got bit"):
        _ = parse_mysql_type("bit(8)").integer_range


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("'it''s'", "it's"),
        (r"'it\'s'", "it's"),
        ('"a""b"', 'a"b'),
        (r"'a\\b\n\t\0\Z'", "a\\b\n\t\0\x1a"),
        (r"'100\%\_'", r"100\%\_"),
        (r"'\q'", "q"),
        (r"'a\\''b'", "a\\'b"),
    ],
)
def test_a_literal_is_read_with_its_escapes(literal: str, text: str) -> None:
    assert decode_mysql_string(literal) == text


@pytest.mark.parametrize("text", ["", "a", "it's", "a\\", "\\'", "é😀"])
def test_a_quoted_text_reads_back(text: str) -> None:
    assert decode_mysql_string(quote_mysql_string(text)) == text
