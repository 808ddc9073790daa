r"""Damage to recorded messages, of every kind that a topic may come to hold.

Real messages with a few places changed reach further into a decoder than random bytes,
which fail at the first one. What is changed is a piece of the text: all around it stays
to the byte as its producer wrote it, so that the decoders' fast ways see it too.

The same random numbers give the same damage.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from random import Random
from typing import Any, Final, NamedTuple, cast

import fastavro

from changefold.protocols.simple_avro import SCHEMA

__all__ = ["AVRO", "BYTES", "JSON", "RECORD", "Message", "mutate"]

fastavro_write: Any = import_module("fastavro.write")
"""Its type hints know no records with names."""


class Message(NamedTuple):
    """Key and value of a Kafka record."""

    key: bytes | None
    value: bytes | None


Mutate = Callable[[Random, bytes, bytes], bytes]
"""Returns a text with one thing changed. The last argument is that of another message of
the topic, to take pieces from."""


def mutate(
    chance: Random, message: Message, other: Message, *, is_avro: bool = False
) -> tuple[Message, list[str]]:
    """Return a message with one to three things changed, and the names of these.

    Args:
        chance: Where the random numbers come from.
        message: The message.
        other: Another one of the same topic.
        is_avro: Whether the values are in Avro, and not in JSON.
    """
    names: list[str] = []
    for _ in range(chance.choices((1, 2, 3), (6, 3, 1))[0]):
        inner = AVRO if is_avro else JSON
        group: dict[str, Any] = chance.choices((inner, BYTES, RECORD), (14, 4, 1))[0]
        name = chance.choices(list(group), [_WEIGHTS.get(each, 8) for each in group])[0]
        names.append(name)
        if group is RECORD:
            message = RECORD[name](message)
            continue
        is_key = message.key is not None and chance.random() < 0.2
        change: Mutate = (BYTES if is_key and is_avro else group).get(name, flip)
        if is_key:
            changed = change(chance, message.key or b"", other.key or b"")
            message = message._replace(key=changed)
        elif message.value is not None:
            changed = change(chance, message.value, other.value or b"")
            message = message._replace(value=changed)
    return message, names


_WEIGHTS: Final = {"long text": 1, "many": 1, "escapes": 1, "deep": 4}
"""Of mutations that make large messages; 8 of the others."""


# -------------------------------------------------------------------------- bytes


def _piece(chance: Random, text: bytes, longest: int = 40) -> tuple[int, int]:
    """Return where a piece begins and ends; it may be empty."""
    start = chance.randint(0, len(text))
    return start, min(len(text), start + chance.randint(0, longest))


def cut(chance: Random, text: bytes, other: bytes) -> bytes:
    """Leave out the end."""
    del other
    return text[: chance.randint(0, len(text))]


def cut_head(chance: Random, text: bytes, other: bytes) -> bytes:
    """Leave out the beginning."""
    del other
    return text[chance.randint(0, len(text)) :]


def flip(chance: Random, text: bytes, other: bytes) -> bytes:
    """Change up to four bytes, by one bit or altogether."""
    del other
    changed = bytearray(text)
    for _ in range(chance.randint(1, 4) if text else 0):
        place = chance.randrange(len(changed))
        bits = chance.choice((1 << chance.randrange(8), chance.randrange(256)))
        changed[place] ^= bits
    return bytes(changed)


def insert(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put bytes in: random ones, or such as mean something."""
    del other
    start, _ = _piece(chance, text)
    piece = chance.choice([*_MEANINGFUL, chance.randbytes(chance.randint(1, 12))])
    return text[:start] + piece + text[start:]


_MEANINGFUL: Final = (
    *(b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\n", b"\x00", b"null"),
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xef\xbb\xbf", b"\x7f"),
    *(b"\\u0000", b"\\ud800", b"\\udc00\\ud800", b"\\x41", b"\\u12", "\u2028".encode()),
    # Numbers in Avro: too long, the largest and the smallest.
    *(b"\x80" * 11, b"\xfe" + b"\xff" * 8 + b"\x01", b"\xff" * 9 + b"\x01"),
)


def remove(chance: Random, text: bytes, other: bytes) -> bytes:
    """Leave a piece out."""
    del other
    start, end = _piece(chance, text)
    return text[:start] + text[end:]


def duplicate(chance: Random, text: bytes, other: bytes) -> bytes:
    """Write a piece twice, there or elsewhere."""
    del other
    start, end = _piece(chance, text, 200)
    place = chance.choice((end, chance.randint(0, len(text))))
    return text[:place] + text[start:end] + text[place:]


def splice(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put a piece of the other message in, or let it end the message."""
    start, end = _piece(chance, other, 400)
    place, place_end = _piece(chance, text)
    if chance.random() < 0.5:
        return text[:place] + other[start:]
    return text[:place] + other[start:end] + text[place_end:]


def encode(chance: Random, text: bytes, other: bytes) -> bytes:
    """Write the text in another encoding, or mark it as one."""
    del other
    characters = text.decode("utf-8", "replace")
    name = chance.choice(("latin-1", "utf-16", "utf-16-le", "utf-32", "utf-8-sig"))
    return characters.encode(name, "replace")


def surround(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put something before or behind the message."""
    more = chance.choice(
        (b"\x00", b" ", b"\n", b"\x00" * 5, b"\xef\xbb\xbf", b"{}", b",")
    )
    return chance.choice((more + text, text + more, text + text, text + other))


def empty(chance: Random, text: bytes, other: bytes) -> bytes:
    """Leave nothing, or next to nothing."""
    del text, other
    return chance.choice(
        (b"", b" ", b"\x00", b"{}", b"[]", b"null", b"0", b'""', b"true", b"[{}]")
    )


BYTES: Final[dict[str, Mutate]] = {
    "cut": cut,
    "cut head": cut_head,
    "flip": flip,
    "insert": insert,
    "remove": remove,
    "duplicate": duplicate,
    "splice": splice,
    "encode": encode,
    "surround": surround,
    "empty": empty,
}
"""Damage to bytes, whatever they mean."""

RECORD: Final[dict[str, Callable[[Message], Message]]] = {
    "null value": lambda message: message._replace(value=None),
    "null key": lambda message: message._replace(key=None),
    "swap": lambda message: Message(message.value, message.key),
}
"""Damage to the record."""


# --------------------------------------------------------------------------- JSON


class Node(NamedTuple):
    """A value in a JSON text.

    Attributes:
        start: Where it begins.
        end: Where it ends, exclusive.
        member: Where its name begins; `start` if it has none.
        depth: How many values it lies within.
    """

    start: int
    end: int
    member: int
    depth: int


_TOKEN: Final = re.compile(
    rb'"(?:[^"\\]++|\\.?)*+"?|[{}\[\]]|[^\s{}\[\],:"]++', re.DOTALL
)


def nodes(text: bytes) -> list[Node]:
    """Find the values of a JSON text: of a broken one those before the damage."""
    found: list[Node] = []
    within: list[tuple[int, int]] = []
    member = -1
    for token in _TOKEN.finditer(text):
        start, end = token.span()
        first = text[start : start + 1]
        if first == b'"' and text[end : end + 1] == b":":
            member = start
        elif first in b"{[":
            within.append((start, start if member < 0 else member))
            member = -1
        elif first not in b"}]":
            named = start if member < 0 else member
            found.append(Node(start, end, named, len(within)))
            member = -1
        elif within:
            opened, named = within.pop()
            found.append(Node(opened, end, named, len(within)))
            member = -1
        else:
            break
    return found


def _choose(chance: Random, text: bytes, pattern: bytes = b"") -> Node | None:
    """Choose a value: every level of nesting is as likely, so are schema and payload.

    Args:
        chance: Where the random numbers come from.
        text: The JSON text.
        pattern: What the value has to match.
    """
    found = nodes(text)
    if pattern:
        fits = re.compile(pattern, re.DOTALL)
        found = [node for node in found if fits.match(text, node.start, node.end)]
    place = text.find(b'"payload":')
    if place >= 0 and chance.random() < 0.5:
        found = [node for node in found if node.member >= place] or found
    if not found:
        return None
    depth = chance.choice(sorted({node.depth for node in found}))
    return chance.choice([node for node in found if node.depth == depth])


def _replace(text: bytes, node: Node | None, value: bytes) -> bytes:
    if node is None:
        return text[: len(text) // 2] + value + text[len(text) // 2 :]
    return text[: node.start] + value + text[node.end :]


def retype(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put a value of another type in."""
    del other
    values = (
        *(b"null", b"true", b"false", b"0", b"-1", b"1.5", b'""', b'"x"', b'"12"'),
        *(b"[]", b"{}", b"[1]", b'{"a":1}', b"[null]", b'["a","b"]', b"[[[]]]"),
    )
    return _replace(text, _choose(chance, text), chance.choice(values))


def nullify(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put null where an object or array is."""
    del other
    return _replace(text, _choose(chance, text, rb"[{\[]"), b"null")


_NUMBERS: Final = (
    *(2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**127, 2**200),
    *(-1, -(2**31) - 1, -(2**63), -(2**63) - 1, -(2**127), 10**13, 10**16, 9999999999),
)
_ODD_NUMBERS: Final = (
    *("1e400", "-1e400", "1e-400", "1e99999", "1e999999999999", "-0", "-0.0", "0123"),
    *("NaN", "-Infinity", "+1", ".5", "1.", "0x10", "1e", "1.7976931348623159e308"),
    *("9" * 400, "1" * 5000, "0." + "0" * 400 + "1", "1." + "9" * 400, "1" + "0" * 39),
)


def grow_number(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put a number in that is too large, too small or none; within quotes, if so."""
    del other
    number = str(chance.choice(chance.choice((_NUMBERS, _ODD_NUMBERS)))).encode()
    node = _choose(chance, text, rb'-?[0-9]|"-?[0-9.]+"')
    if node is None or text[node.start : node.start + 1] == b'"':
        number = b'"' + number + b'"'
    return _replace(text, node, number)


_TIMES: Final = (
    *(b"0", b"-1", b"9223372036854775807", b"-9223372036854775808", b"99999999999999"),
    *(b"10000000000000", b"9999999999999", b"253402300800000", b"9223372036854776"),
    *(b'"0000-00-00"', b'"2024-02-30"', b'"9999-12-31T23:59:60Z"', b'"-0001-01-01"'),
    *(b'"2024-01-01 24:00:00"', b'"99999-01-01T00:00:00Z"', b'"838:59:59.999999999"'),
)


def shift_time(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put a time out of range where one is, or a number of many digits."""
    del other
    node = _choose(chance, text, rb'[0-9]{10}|"[0-9]{4}-|"[0-9]+:')
    return _replace(text, node, chance.choice(_TIMES))


def nest(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put thousands of levels in, closed or not; of parentheses within a text."""
    del other
    depth = chance.choice((70, 1100, 5000, 50_000))
    opening, closing = chance.choice(
        ((b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]"), (b"(", b")"))
    )
    inner = opening * depth + b"1" + closing * chance.choice((depth, depth, 0))
    if opening != b"(":
        return _replace(text, _choose(chance, text), inner)
    node = _choose(chance, text, rb'"')
    place = len(text) if node is None else _within(chance, node)
    return text[:place] + inner + text[place:]


def _within(chance: Random, node: Node) -> int:
    """Return a place within a string; broken, it may have no end."""
    return chance.randint(node.start + 1, max(node.start + 1, node.end - 1))


def _edit_text(chance: Random, text: bytes, piece: bytes) -> bytes:
    """Put a piece into a string, or into the name of a member."""
    node = _choose(chance, text, rb'"') or _choose(chance, text)
    if node is None:
        return text + piece
    if node.member < node.start and chance.random() < 0.2:
        place = node.member + 1
    else:
        place = _within(chance, node)
    return text[:place] + piece + text[place:]


_CHARACTERS: Final = (
    *(b"\\ud800", b"\\udfff", b"\\udc00\\ud800", b"\\ud83d\\ude00", b"\\u0000", b"\\/"),
    *(
        b"\x00",
        b"\x01",
        b"\x1f",
        b"\t",
        b"\n",
        b"\x7f",
        b"\xe9",
        b"\xff\xfe",
        b"\xc0\x80",
    ),
    *(
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\\x41",
        b"\\",
        b'"',
        b"\\u00",
        b"\\uZZZZ",
    ),
    *("é€😀".encode(), "\ufeff".encode(), "\uffff".encode(), "\u2028".encode(), b"\\b"),
    *(b"`", b"'", b"''", b"/*", b"*/", b"--", b"#", b"(", b")", b";", b"\\u00e9"),
)


def edit_text(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put characters into a text that it may not have, or that mean something."""
    del other
    return _edit_text(chance, text, chance.choice(_CHARACTERS))


_DIGITS: Final = re.compile(rb"[0-9]+")


def change_digits(chance: Random, text: bytes, other: bytes) -> bytes:
    """Change a number wherever it is: in a value, a type, a statement or a position."""
    del other
    found = list(_DIGITS.finditer(text))
    if not found:
        return text + b"0"
    start, end = chance.choice(found).span()
    number = chance.choice(
        (
            *(b"0", b"1", b"65", b"256", b"2147483647", b"9999999999", b"9" * 20),
            *(b"9" * 50, text[start:end] + b"0", text[start : end - 1] or b"7"),
        )
    )
    return text[:start] + number + text[end:]


_STATEMENT: Final = re.compile(rb'"(?:sql|ddl)":"((?:[^"\\]++|\\.)++)"', re.DOTALL)
_WORD: Final = re.compile(rb"[A-Za-z_]+|[0-9]+|`[^`]*`|'[^']*'|\s+|.", re.DOTALL)
_SQL: Final = (
    *(
        b"ADD COLUMN",
        b"DROP",
        b"MODIFY",
        b"CHANGE",
        b"RENAME TO",
        b"TABLE",
        b"LIKE",
        b"AS",
    ),
    *(
        b"PRIMARY KEY (",
        b"FIRST",
        b"AFTER",
        b"DEFAULT",
        b"NOT NULL",
        b"GENERATED ALWAYS AS",
    ),
    *(b"binary(9999999999)", b"decimal(99,99)", b"enum(''", b"bit(0)", b"PARTITION BY"),
    *(
        b"RANGE (",
        b"VALUES LESS THAN",
        b"TRUNCATE PARTITION",
        b"EXCHANGE",
        b"/*T![x] ",
        b"*/",
    ),
    *(
        b"/*!50100 ",
        b"--",
        b"#",
        b"`",
        b"``",
        b"'",
        b"''",
        b"(",
        b")",
        b",",
        b";",
        b".",
        b"=",
        b"\\\\",
    ),
)


def edit_statement(chance: Random, text: bytes, other: bytes) -> bytes:
    """Change words of a DDL statement, if there is one."""
    statement = _STATEMENT.search(text)
    if statement is None:
        return edit_text(chance, text, other)
    words = _WORD.findall(statement[1])
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(words))
        end = min(len(words), start + chance.choice((0, 1, 1, 3)))
        words[start:end] = chance.choice(
            ([chance.choice(_SQL)], [], words[start:end] * 2, [chance.choice(words)])
        )
        words = words or [b"x"]
    return text[: statement.start(1)] + b"".join(words) + text[statement.end(1) :]


def lengthen(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put a few 100 kB into a text."""
    del other
    unit = chance.choice(
        (
            b"a",
            b"9",
            b'\\"',
            b"\\\\",
            b"\\u0041",
            "é".encode(),
            b"/*",
            b"'",
            b"`",
            b"(",
            b"A,",
        )
    )
    return _edit_text(
        chance, text, unit * (chance.randint(100_000, 300_000) // len(unit))
    )


def escape(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put many objects and a text of escaped quotes that does not end at the end."""
    del other
    return text[: chance.randint(0, len(text))] + b"[]" * 80 + b'"' + b'\\"' * 50_000


def multiply(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put very many items or members in."""
    del other
    count = chance.randint(2_000, 10_000)
    item, closing = chance.choice(
        (
            (b"[" + b"0," * count, b"0]"),
            (b'["' + b'a","' * count, b'"]'),
            (b"{", b'"":0}'),
        )
    )
    if item == b"{":
        item += b"".join(b'"k%d":null,' % number for number in range(count))
    return _replace(text, _choose(chance, text), item + closing)


def break_base64(chance: Random, text: bytes, other: bytes) -> bytes:
    """Spoil a text that may be base64."""
    del other
    node = _choose(chance, text, rb'"[A-Za-z0-9+/]+={0,2}"')
    if node is None:
        return text + b"="
    content = text[node.start + 1 : node.end - 1]
    spoiled = chance.choice(
        (
            *(
                content[:-1],
                content + b"=",
                b"=" + content,
                content + b"A",
                content + b"\n",
            ),
            *(
                content.replace(b"=", b""),
                content[: len(content) // 2] + b"*" + content,
            ),
            base64.b64encode(chance.randbytes(chance.choice((0, 1, 9, 17, 300)))),
        )
    )
    return _replace(text, node, b'"' + spoiled + b'"')


def _member(chance: Random, text: bytes) -> Node | None:
    found = [node for node in nodes(text) if node.member < node.start]
    node = _choose(chance, text)
    if node is not None and node.member < node.start:
        return node
    return chance.choice(found) if found else None


def drop_member(chance: Random, text: bytes, other: bytes) -> bytes:
    """Leave a member of an object out."""
    node = _member(chance, text)
    if node is None:
        return cut(chance, text, other)
    start, end = node.member, node.end
    if text[end : end + 1] == b",":
        end += 1
    elif text[start - 1 : start] == b",":
        start -= 1
    return text[:start] + text[end:]


def repeat_member(chance: Random, text: bytes, other: bytes) -> bytes:
    """Write a member of an object twice, the same or with another value."""
    node = _member(chance, text)
    if node is None:
        return duplicate(chance, text, other)
    again = text[node.member : node.end]
    if chance.random() < 0.5:
        again = text[node.member : node.start] + chance.choice((b"null", b'"1"', b"{}"))
    place = chance.choice((node.member, node.end))
    piece = again + b"," if place == node.member else b"," + again
    return text[:place] + piece + text[place:]


def rename_member(chance: Random, text: bytes, other: bytes) -> bytes:
    """Give a member of an object another name."""
    node = _member(chance, text)
    if node is None:
        return flip(chance, text, other)
    name = text[node.member : node.start].partition(b'"')[2].rpartition(b'"')[0]
    renamed = chance.choice(
        (
            b"",
            name.upper(),
            name + b"_",
            b"x",
            b"schema",
            b"payload",
            b"data",
            b"\\u0064ata",
        )
    )
    return text[: node.member] + b'"' + renamed + b'":' + text[node.start :]


def swap_values(chance: Random, text: bytes, other: bytes) -> bytes:
    """Exchange two values."""
    found = sorted(filter(None, (_choose(chance, text), _choose(chance, text))))
    if len(found) < 2 or found[0].end > found[1].start:
        return splice(chance, text, other)
    (start, end, *_), (next_start, next_end, *_) = found
    between = text[end:next_start]
    return (
        text[:start]
        + text[next_start:next_end]
        + between
        + text[start:end]
        + text[next_end:]
    )


def graft(chance: Random, text: bytes, other: bytes) -> bytes:
    """Put a value of the other message in."""
    donor = _choose(chance, other)
    value = b"null" if donor is None else other[donor.start : donor.end]
    return _replace(text, _choose(chance, text), value)


JSON: Final[dict[str, Mutate]] = {
    "type": retype,
    "null": nullify,
    "number": grow_number,
    "time": shift_time,
    "deep": nest,
    "text": edit_text,
    "digits": change_digits,
    "statement": edit_statement,
    "long text": lengthen,
    "escapes": escape,
    "many": multiply,
    "base64": break_base64,
    "no member": drop_member,
    "member twice": repeat_member,
    "name": rename_member,
    "exchange": swap_values,
    "graft": graft,
}
"""Damage to a JSON text."""


# --------------------------------------------------------------------------- Avro

_MESSAGE_SCHEMA: Final = cast("list[Any]", fastavro.parse_schema(SCHEMA))[-1]

Slot = tuple[Any, Any]
"""A dict or list, and the key or index of a value in it."""


def _slots(node: object) -> list[Slot]:
    """Find all values within a record; the name of a union's branch is none."""
    if isinstance(node, tuple):
        return _slots(node[1])
    items: Any = ()
    if isinstance(node, dict):
        items = node.items()
    elif isinstance(node, list):
        items = enumerate(node)
    found: list[Slot] = []
    for name, value in items:
        found.append((node, name))
        found += _slots(value)
    return found


def _rewrite(
    chance: Random,
    text: bytes,
    other: bytes,
    change: Callable[[Random, Slot], None],
    kinds: tuple[type, ...],
) -> bytes:
    """Change a value of one of some types in a message, and write it again."""
    try:
        stream = BytesIO(text)
        stream.seek(1)
        record: Any = fastavro.schemaless_reader(
            stream, _MESSAGE_SCHEMA, None, return_record_name=True
        )
        slots = [
            (owner, name)
            for owner, name in _slots(record)
            if isinstance(owner[name], kinds)
        ]
        change(chance, chance.choice(slots))
        written = BytesIO()
        fastavro_write.schemaless_writer(written, _MESSAGE_SCHEMA, record)
    except Exception:  # noqa: BLE001  # it is damaged already, or can not be written
        return flip(chance, text, other)
    return text[:1] + written.getvalue()


def _avro_number(chance: Random, slot: Slot) -> None:
    owner, name = slot
    if isinstance(owner[name], float):
        owner[name] = chance.choice((float("nan"), float("inf"), -0.0, 5e-324, 1e300))
    elif not isinstance(owner[name], bool):
        owner[name] = chance.choice(
            (0, -1, 2**31 - 1, 2**63 - 1, -(2**63), 10**13, 9223372036854776)
        )


def _avro_text(chance: Random, slot: Slot) -> None:
    owner, name = slot
    text = owner[name]
    if isinstance(text, bytes):
        owner[name] = chance.choice((b"", b"\xff" * 9, text * 2, chance.randbytes(300)))
    else:
        text = chance.choice((text, re.sub("[0-9]+", "9999999999", text, count=1)))
        piece = chance.choice(
            (
                "",
                "\x00",
                "é€😀",
                "\ufeff",
                "\u2028",
                "'",
                "`",
                "(" * 3000,
                "9" * 400,
                "<&>",
            )
        )
        owner[name] = chance.choice((piece, text + piece, piece + text))


def _avro_long_text(chance: Random, slot: Slot) -> None:
    owner, name = slot
    owner[name] = chance.choice(("a", "9", '"', "\\", "é")) * 200_000


def _avro_items(chance: Random, slot: Slot) -> None:
    owner, name = slot
    items = owner[name]
    if items:
        item = chance.choice(items)
        owner[name] = chance.choice(
            (
                [],
                [*items, item],
                [item] * 500,
                [each for each in items if each is not item],
            )
        )


def _avro_null(chance: Random, slot: Slot) -> None:
    del chance
    owner, name = slot
    owner[name] = None


def _avro(change: Callable[[Random, Slot], None], *kinds: type) -> Mutate:
    def mutation(chance: Random, text: bytes, other: bytes) -> bytes:
        return _rewrite(chance, text, other, change, kinds)

    return mutation


AVRO: Final[dict[str, Mutate]] = {
    "number": _avro(_avro_number, int, float),
    "text": _avro(_avro_text, str, bytes),
    "long text": _avro(_avro_long_text, str),
    "many": _avro(_avro_items, list),
    "null": _avro(_avro_null, str, bytes, int, float, list, dict, tuple),
}
"""Damage to a message in Avro that stays Avro."""
