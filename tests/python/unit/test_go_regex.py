import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spark_conditions import python_regex

from changefold.changefeed.go_regex import parse_go_regex
from changefold.changefeed.letter_case import lowered

# What Go 1.26 says of 500 random expressions, each with whether `(?i)` stood in front:
# null for an error, else texts in which it is found and texts in which it is not.
RECORDED = json.loads(
    (Path(__file__).parent / "fixtures" / "go_regex.json").read_text("utf-8")
)


@pytest.mark.parametrize(("source", "ignore_case", "expected"), RECORDED)
def test_an_expression_means_what_it_means_in_go(
    source: str, ignore_case: bool, expected: dict[str, list[str]] | None
) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="Expected a regular expression of Go"):
            parse_go_regex(source, ignore_case=ignore_case)
        return
    regex = parse_go_regex(source, ignore_case=ignore_case)
    for text in expected["found"]:
        assert regex.found_in(text)
    for text in expected["not_found"]:
        assert not regex.found_in(text)
    # Java gets the same text, but for the end of the text.
    assert python_regex(regex.java) == regex.python


@pytest.mark.parametrize(
    ("source", "java"),
    [
        ("^foo", "^foo"),
        ("foo$", r"foo\z"),
        (r"^sbtest-\d", "^sbtest-[0-9]"),
        ("t[0-8]", "t[0-8]"),
        ("[^a-z]", "[^a-z]"),
        ("a.b", r"a[^\n]b"),
        ("(?s)^.*$", r"^[\s\S]*\z"),
        (r"a\.b\/c", r"a\.b/c"),
        ("a|b", "a|b"),
        ("x(a|b)+?", "x(?:a|b)+"),
        ("(?P<n>a){2,}", "a{2,}"),
        ("(?i)ok", "[Oo][Kk\u212a]"),
        ("(?i:o)k", "[Oo]k"),
        ("(?m)^a$", r"(?<![^\n])a(?![^\n])"),
        (r"\x{1F600}\x41\101", "😀AA"),
        (r"\Qa.b*\E", r"a\.b\*"),
        ("[[:digit:]_]", "[0-9_]"),
        ("[a[b]&&c]", r"[\[ab]&&c\]"),
        ("a{,2}", r"a\{,2\}"),
        (r"[\x00-\x{10FFFF}]", r"[\s\S]"),
        (r"[^\x00-\x{10FFFF}]", "(?!)"),
        ("", ""),
    ],
)
def test_java_gets_an_expression_that_means_the_same(source: str, java: str) -> None:
    assert parse_go_regex(source).java == java


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("t(?!x)", "RE2 has no look-around, at 2"),
        ("t(?=x)", "RE2 has no look-around"),
        ("(?<!x)t", "RE2 has no look-around"),
        ("(?<=x)t", "RE2 has no look-around"),
        (r"(a)\1", "RE2 has no back-references"),
        ("(?P=n)", "RE2 has no such group"),
        ("(?#c)", "RE2 has no such group"),
        (r"\pL", "Unicode classes differ between Go and Java"),
        (r"[\p{Greek}]", "Unicode classes differ between Go and Java"),
        (r"\Z", "RE2 has no such escape"),
        (r"\é", "RE2 has no such escape"),
        ("a\\", "a character behind the backslash is missing"),
        ("(a", "`)` is missing"),
        ("a)", "`)` without `(`"),
        ("[a", "`]` is missing"),
        ("[z-a]", "a range of a class goes upwards"),
        ("[[:foo:]]", "no class `foo`"),
        ("*a", "nothing to repeat"),
        ("a|+", "nothing to repeat"),
        ("a**", "a repetition of a repetition"),
        ("a*+", "a repetition of a repetition"),
        ("a{1001}", "a repetition goes from 0 to 1000"),
        ("a{2,1}", "a repetition goes from 0 to 1000"),
        ("(a{100}){11}", "repetitions in repetitions go up to 1000"),
        ("(" * 101 + ")" * 101, "groups in groups go up to 100"),
        (r"\x{110000}", "no such character"),
    ],
)
def test_what_go_refuses_is_an_error(source: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        parse_go_regex(source)


@settings(deadline=None)
@given(
    text=st.text(max_size=6),
    other=st.text(max_size=6),
    before=st.text(max_size=2),
    after=st.text(max_size=2),
)
def test_quoted_text_is_found_where_it_stands(
    text: str, other: str, before: str, after: str
) -> None:
    if "\\E" not in text:
        regex = parse_go_regex(f"\\Q{text}\\E")
        assert regex.found_in(before + text + after)
        assert regex.found_in(other) == (text in other)


@settings(deadline=None)
@given(data=st.data())
def test_a_text_in_lower_case_needs_no_upper_case(data: st.DataObject) -> None:
    pieces = [
        "a",
        "S",
        "\u017f",
        "K",
        "[^s]",
        "[i-k]",
        r"\w",
        r"\W",
        ".",
        "^",
        "$",
        "|",
    ]
    source = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=5)))
    text = lowered(data.draw(st.text("aAsSkK\u017f\u212aiI\u0130é\n ", max_size=4)))
    whole = parse_go_regex(source, ignore_case=True)
    short = parse_go_regex(source, ignore_case=True, in_lowered=True)
    assert short.found_in(text) == whole.found_in(text)
