import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spark_conditions import evaluate

from changefold.changefeed.letter_case import (
    case_variants,
    folded,
    lowered,
    lowered_sql,
)

DOTTED_I, LONG_S, KELVIN, SIGMA = "\u0130", "\u017f", "\u212a", "\u03c3"

# Letters whose case is not simply two letters, among plain ones.
NAMES = st.text(
    st.sampled_from(f"aiIsSkKzZ_%1{DOTTED_I}{LONG_S}{KELVIN}{SIGMA}Σς\u0307ßẞΘϴϑǅé😀\n")
    | st.characters(exclude_categories=["Cs", "Cn"]),
    max_size=8,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Orders", "orders"),
        ("Ä", "ä"),
        (DOTTED_I, "i"),
        ("ΟΔΟΣ", "οδοσ"),
        (KELVIN, "k"),
        (LONG_S, LONG_S),
        ("ẞß", "ßß"),
        ("表😀", "表😀"),
    ],
)
def test_letters_are_lowered_one_by_one(text: str, expected: str) -> None:
    assert lowered(text) == expected


@pytest.mark.parametrize(
    ("char", "expected"),
    [
        ("s", {"s", "S", LONG_S}),
        ("K", {"k", "K", KELVIN}),
        ("i", {"i", "I"}),
        (DOTTED_I, {DOTTED_I}),
        ("ς", {"Σ", SIGMA, "ς"}),
        ("ß", {"ß", "ẞ"}),
        ("1", {"1"}),
    ],
)
def test_variants_are_those_of_one_case_folding(char: str, expected: set[str]) -> None:
    assert case_variants(char) == expected


def test_a_folded_letter_is_one_of_its_variants() -> None:
    for char in map(chr, range(0x1FFFF)):
        assert folded(char) in case_variants(char)


def test_a_plain_name_is_just_lowered() -> None:
    assert lowered_sql("t", "tmp_1") == "lower(t)"
    assert lowered_sql("t", "orders") == "lower(t)"
    assert lowered_sql("t", "items") == "lower(translate(t, 'İ', 'i'))"
    found = lowered_sql("t", "orders", folds=True)
    assert found == f"lower(translate(t, '{LONG_S}', 's'))"


@settings(deadline=None)
@given(name=NAMES, text=NAMES)
def test_sql_lowers_a_name_as_go_does(name: str, text: str) -> None:
    text = lowered(text)
    for candidate in (name, text, text.upper()):
        found = evaluate(lowered_sql("t", text), {"t": candidate})
        assert (found == text) == (lowered(candidate) == text)


@settings(deadline=None)
@given(name=NAMES, text=NAMES)
def test_sql_folds_a_name_as_go_does(name: str, text: str) -> None:
    text = folded(text)
    for candidate in (name, text, text.upper()):
        found = evaluate(lowered_sql("t", text, folds=True), {"t": candidate})
        assert (found == text) == (folded(lowered(candidate)) == text)
