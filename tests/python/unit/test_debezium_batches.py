"""A batch of Debezium messages decoded together is what each gives by itself.

Of the recorded messages in `tests/golden/debezium`, and of the same changed in one
place: what is special about a message, the strict reader has to see.
"""

import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from message_rows import as_row

from changefold.connect.declared import table_name
from changefold.connect.unavailable import UNAVAILABLE
from changefold.protocols import debezium
from changefold.protocols.debezium import changes, parse_batch, read_debezium

GOLDEN = Path(__file__).parents[2] / "golden" / "debezium"
SCENARIOS = sorted(path.parent.name for path in GOLDEN.glob("*/messages.ndjson.gz"))

Record = tuple[bytes | None, bytes | None]


@pytest.fixture(autouse=True)
def _one_makes_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no message to the strict reader because it is alone."""
    monkeypatch.setattr(changes, "_WORTH_A_GROUP", 1)


def records(scenario: str) -> list[Record]:
    """Key and value of each message of a sample."""
    with gzip.open(GOLDEN / scenario / "messages.ndjson.gz", "rt") as lines:
        parsed = [json.loads(line) for line in lines]
    return [
        (
            None if record["key"] is None else record["key"].encode(),
            None if record["value"] is None else record["value"].encode(),
        )
        for record in parsed
    ]


def bare(text: bytes | None) -> bytes | None:
    """The same without its schema, as a converter without schemas writes it."""
    if text is None or not text.startswith((b'{"schema":', b'{"payload":')):
        return text
    payload = json.loads(text)["payload"]
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


def one_by_one(
    messages: list[Record], types: list[str | None] | None = None
) -> list[dict[str, Any]]:
    declared = types or [None] * len(messages)
    return [
        as_row(read_debezium(key, value, text))
        for (key, value), text in zip(messages, declared, strict=True)
    ]


def together(
    messages: list[Record], types: list[str | None] | None = None
) -> list[dict[str, Any]]:
    rows = parse_batch(
        pa.array([key for key, _ in messages], pa.binary()),
        pa.array([value for _, value in messages], pa.binary()),
        None if types is None else pa.array(types, pa.string()),
    )
    rows.validate(full=True)
    listed: list[dict[str, Any]] = rows.to_pylist()
    return listed


def assert_same(messages: list[Record], types: list[str | None] | None = None) -> None:
    expected = one_by_one(messages, types)
    found = together(messages, types)
    for message, row, expected_row in zip(messages, found, expected, strict=True):
        assert row == expected_row, message


def declared_types(
    messages: list[Record], chance: random.Random | None = None
) -> list[str | None]:
    """The types that the schemas of messages have, each time of all tables.

    With `chance`, two such texts whose columns have some of the types, or none.
    """
    types: dict[str, dict[str, str]] = {}
    for key, value in messages:
        message = read_debezium(key, value)
        if message.event_kind == "row" and message.column_types is not None:
            table = table_name(
                message.source_database, message.source_schema, message.source_table
            )
            types.setdefault(table, {}).update(json.loads(message.column_types))
    if chance is None:
        return [json.dumps(types)] * len(messages)
    texts: list[str | None] = [None, "{}"]
    for _ in range(2):
        some = {
            table: {name: columns[name] for name in columns if chance.random() < 0.5}
            for table, columns in types.items()
            if chance.random() < 0.8
        }
        texts.append(json.dumps(some))
    return chance.choices(texts, k=len(messages))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_batch_of_recorded_messages_is_what_each_of_them_gives(
    scenario: str,
) -> None:
    messages = records(scenario)
    assert_same(messages)
    without = [(bare(key), bare(value)) for key, value in messages]
    assert_same(without)
    assert_same([(key, bare(value)) for key, value in messages])
    assert_same([(bare(key), value) for key, value in messages])
    assert_same([(None, value) for _, value in messages])
    assert_same(without, declared_types(messages))
    chance = random.Random(scenario)  # noqa: S311  # the same each time
    for declared in (declared_types(messages, chance) for _ in range(3)):
        assert_same(without, declared)
        assert_same([(key, bare(value)) for key, value in messages], declared)


@pytest.mark.parametrize(
    "scenario", ["sqlserver_shop_synthetic", "postgresql_shop", "mariadb_shop"]
)
def test_most_messages_of_a_batch_are_read_together(
    scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_WORTH_A_GROUP", 8)
    # A batch is larger than a sample.
    messages = records(scenario) * 10
    parsed = []

    def count(key: Any, value: Any, declared: Any) -> Any:
        parsed.extend([value] if value is not None else [])
        return read_strictly(key, value, declared)

    read_strictly = debezium._read
    monkeypatch.setattr(debezium, "_read", count)
    without = [(bare(key), bare(value)) for key, value in messages]
    types = declared_types(messages)
    for each, declared in ((messages, None), (without, None), (without, types)):
        parsed.clear()
        together(each, declared)
        # The others are DDL, truncates and heartbeats.
        assert len(parsed) < len(messages) / 4


# ------------------------------------------------------------------ changed messages


def truncated(text: bytes, chance: random.Random) -> bytes:
    return text[: chance.randrange(len(text))]


def with_a_byte_changed(text: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(text))
    byte = chance.choice(b'"\\{}[],:0a -\x00\x1f\x80\xc3\xff')
    return text[:place] + bytes([byte]) + text[place + 1 :]


def with_a_byte_left_out(text: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(text))
    return text[:place] + text[place + 1 :]


def with_a_byte_more(text: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(text))
    return text[:place] + bytes([chance.choice(b'"\\0 ,u{')]) + text[place:]


Pairs = list[tuple[str, Any]]


def objects(node: Any) -> list[Pairs]:
    """All objects of a document that was parsed with pairs."""
    if isinstance(node, Object):
        return [
            node.pairs,
            *(found for _, item in node.pairs for found in objects(item)),
        ]
    if isinstance(node, list):
        return [found for item in node for found in objects(item)]
    return []


class Object:
    """An object of JSON whose names may come twice."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = list(pairs)

    def text(self) -> str:
        members = (f"{json.dumps(name)}:{text_of(item)}" for name, item in self.pairs)
        return "{" + ",".join(members) + "}"


class Written:
    """A value as it is to be written."""

    def __init__(self, text: str) -> None:
        self.text = text


def text_of(node: Any) -> str:
    if isinstance(node, Object):
        return node.text()
    if isinstance(node, Written):
        return node.text
    if isinstance(node, list):
        return "[" + ",".join(map(text_of, node)) + "]"
    return json.dumps(node, ensure_ascii=False)


def changing(
    change: Callable[[Pairs, int, random.Random], None],
) -> Callable[[bytes, random.Random], bytes]:
    """Return a change of one member of the payload or, rarely, of the schema."""

    def mutate(text: bytes, chance: random.Random) -> bytes:
        document = json.loads(text, object_pairs_hook=Object)
        if not isinstance(document, Object):
            return text
        payload = dict(document.pairs).get("payload", document)
        root = document if chance.random() < 0.1 else payload
        found = [pairs for pairs in objects(root) if pairs]
        if not found:
            return text
        pairs = chance.choice(found)
        change(pairs, chance.randrange(len(pairs)), chance)
        return document.text().encode()

    return mutate


def repeat(pairs: Pairs, place: int, chance: random.Random) -> None:
    pairs.insert(chance.randrange(len(pairs) + 1), pairs[place])


def leave_out(pairs: Pairs, place: int, chance: random.Random) -> None:
    del pairs[place]


def shuffle(pairs: Pairs, place: int, chance: random.Random) -> None:
    chance.shuffle(pairs)


def add(pairs: Pairs, place: int, chance: random.Random) -> None:
    name = chance.choice(["extra", "after", "before", "source", "op", "schema", 'a"b'])
    pairs.insert(place, (name, chance.choice(VALUES)))


def rename(pairs: Pairs, place: int, chance: random.Random) -> None:
    pairs[place] = ("é" + pairs[place][0], pairs[place][1])


def as_other(pairs: Pairs, place: int, chance: random.Random) -> None:
    """Write a number as a text and a text as a number."""
    name, item = pairs[place]
    if isinstance(item, str):
        pairs[place] = name, Written("17")
    elif not isinstance(item, Object):
        pairs[place] = name, text_of(item)


def escape(pairs: Pairs, place: int, chance: random.Random) -> None:
    """Write the characters of texts as other readers of JSON may see them."""
    for index, (name, item) in enumerate(pairs):
        if isinstance(item, str):
            escaped = "".join(
                f"\\u{ord(letter):04X}" if ord(letter) < 0x8000 else letter
                for letter in item
            )
            pairs[index] = name, Written(f'"{escaped}"')


WRITTEN = re.findall(
    r"\S+",
    """
    0 -0 1 -1 00 01 +1 1. .5 1e5 1E400 -1.0E-300 0.1 127 128 32768 2147483648 2932897
    999999999999999999 1000000000000000000 9223372036854775807 9223372036854775808
    -9223372036854775808 99999999999999999999 123456789012345678901234567
    253402300800000000 -62135596800000001 86400000 0x1F 1_0 NaN nul tru true1
    [] [1,[2]] {}
    """,
)
VALUES: list[Any] = [
    *(None, True, "", "é東京", "😀", 'a"b\\c\n\t\x01/', UNAVAILABLE),
    "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==",
    json.dumps({UNAVAILABLE: UNAVAILABLE}, separators=(",", ":")),
    *("AQ==", "AR==", "AQ", "A===", "//////////8=", "gAAAAAAAAAA=", "AP//////////"),
    *("2024-02-29T12:00:00.5Z", "2023-02-29T12:00:00Z", "2024-02-29T24:00:00Z"),
    *("0000-01-01T00:00:00Z", "infinity", "NaN", "00000027:00000758:0005", "NULL"),
    *('["1","2"]', '[null,"2"]', "mysql-bin.000003", "first", "incremental", "u"),
    *(Written(r'"\ud83d\ude00"'), Written(r'"\ud83d"'), Written(r'"\/"')),
    *(Written(r'"\q"'), Written(r'"\u00"'), Written('"\x7f\u2028"')),
    *map(Written, WRITTEN),
    [],
    ["a", None, UNAVAILABLE],
    [UNAVAILABLE],
    Object([("scale", Written("2")), ("value", "AQ==")]),
]


def put(pairs: Pairs, place: int, chance: random.Random) -> None:
    pairs[place] = pairs[place][0], chance.choice(VALUES)


CHANGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "truncated": truncated,
    "a byte changed": with_a_byte_changed,
    "a byte left out": with_a_byte_left_out,
    "a byte more": with_a_byte_more,
    "a member twice": changing(repeat),
    "a member less": changing(leave_out),
    "a member more": changing(add),
    "a member renamed": changing(rename),
    "members in another order": changing(shuffle),
    "a number as text": changing(as_other),
    "escapes": changing(escape),
    "another value": changing(put),
}


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_message_among_others_is_what_it_gives_by_itself(
    scenario: str, change: str
) -> None:
    chance = random.Random(f"{scenario} {change}")  # noqa: S311  # the same each time
    recorded = records(scenario)
    messages = chance.sample(recorded, min(len(recorded), 120))
    mutate = CHANGES[change]
    changed: list[Record] = []
    halves = messages[::2], [(bare(key), bare(value)) for key, value in messages[1::2]]
    for key, value in (*halves[0], *halves[1]):
        changed.append((key, value))
        if value is not None:
            changed.append((key, mutate(value, chance)))
        if key is not None:
            changed.append((mutate(key, chance), value))
    chance.shuffle(changed)
    assert_same(changed)
    types = declared_types(recorded, chance)
    assert_same(changed, chance.choices(types, k=len(changed)))


@pytest.mark.parametrize(
    "scenario", ["sqlserver_types_synthetic", "postgresql_types", "mariadb_types"]
)
def test_any_value_in_any_column_is_what_it_gives_by_itself(scenario: str) -> None:
    chance = random.Random(scenario)  # noqa: S311  # the same each time
    mutate = CHANGES["another value"]
    changed: list[Record] = [
        (key, mutate(value, chance))
        for key, value in records(scenario) * 2
        if value is not None
    ]
    assert_same(changed)
    assert_same([(bare(key), value) for key, value in changed])
    without: list[Record] = [
        (bare(key), mutate(payload, chance))
        for key, value in records(scenario)
        if (payload := bare(value)) is not None
    ]
    types = declared_types(records(scenario))[:1] * len(without)
    assert_same(without, types)


@pytest.mark.parametrize("type_", ["float", "double"])
def test_fractions_of_a_batch_are_the_texts_of_each(type_: str) -> None:
    chance = random.Random(type_)  # noqa: S311  # the same each time
    tokens = ["0.0", "-0.0", "0.001", "0.0001", "0.00001", "1.10", "10.0", "1.0e5"]
    tokens += ["9999999999999.9", "99999999999999.9", "123456.7", "16777217.0"]
    for _ in range(2000):
        whole = str(chance.randrange(10 ** chance.randrange(16)))
        fraction = str(chance.randrange(10 ** chance.randrange(12)))
        tokens.append(f"{'-' * chance.randrange(2)}{whole}.{fraction}")
        tokens.append(f"0.{fraction.rjust(chance.randrange(20), '0')}")
        tokens.append(repr(chance.random() * 10 ** chance.randrange(-8, 20)))
    values = [value for _, value in records("mariadb_shop") if value is not None]
    payloads_of_rows = (json.loads(value)["payload"] for value in values)
    envelope = next(each for each in payloads_of_rows if "after" in each)
    envelope |= {"op": "c", "before": None}
    text = json.dumps(envelope | {"after": 0}, separators=(",", ":"))
    head, tail = text.split('"after":0')
    payloads = [f'{head}"after":{{"x":{token}}}{tail}' for token in tokens]
    messages: list[Record] = [(None, payload.encode()) for payload in payloads]
    source = envelope["source"]
    types = {f"{source['db']}.{source['table']}": {"x": f"connect.{type_}"}}
    declared: list[str | None] = [json.dumps(types)] * len(messages)
    assert {row["event_kind"] for row in together(messages, declared)} == {"row"}
    assert_same(messages, declared)


@pytest.mark.parametrize(
    ("found", "put"),
    [
        (rb'"name":"[^"]*","ts_ms"', b'"name":"%b","ts_ms"' % (b"x" * 100_000)),
        (rb'"ts_ms":[0-9]+', b'"ts_ms":10000000000000'),
        (rb'"ts_ms":[0-9]+', b'"ts_ms":9223372036854775807'),
        (rb'"txId":[0-9]+', b'"txId":true'),
    ],
)
@pytest.mark.parametrize("scenario", ["postgresql_shop", "mariadb_shop"])
def test_a_source_like_no_other_is_what_it_gives_by_itself(
    scenario: str, found: bytes, put: bytes
) -> None:
    messages = records(scenario)[:40]
    changed = [
        (key, None if value is None else re.sub(found, put, value))
        for key, value in messages
    ]
    # The first of a batch, the last, all of it.
    assert_same([changed[-1], *messages])
    assert_same([*messages, *changed])
    assert_same(changed)


def test_rows_whose_names_differ_in_one_letter_are_told_apart() -> None:
    names = [f"column_{number:02}" for number in range(30)]
    messages: list[Record] = []
    for number in range(8):
        for place in range(len(names)):
            others = [*names[:place], f"Column_{place:02}", *names[place + 1 :]]
            row = dict.fromkeys(others, number)
            source = {"connector": "TiCDC", "name": "t", "ts_ms": 1, "db": "shop"}
            source |= {"table": f"t{place % 3}", "commit_ts": number}
            value = {"before": None, "after": row, "source": source, "op": "c"}
            text = json.dumps(value, separators=(",", ":")).encode()
            messages.append((b'{"column_00":1}', text))
    assert_same(messages)


def test_rows_without_columns_are_left_to_the_strict_reader() -> None:
    source = {"connector": "TiCDC", "name": "t", "ts_ms": 1, "db": "shop", "table": "t"}
    messages: list[Record] = []
    for op, before, after in (("u", {}, {}), ("c", None, {}), ("d", {}, None)):
        value = {"before": before, "after": after, "source": source | {"commit_ts": 5}}
        text = json.dumps(value | {"op": op}, separators=(",", ":")).encode()
        messages += [(None, text), (b"{}", text), (b'{"id":1}', text)] * 2
    assert_same(messages)


def test_an_empty_batch_and_a_batch_of_nothing_are_decoded() -> None:
    assert_same([])
    assert_same([(None, None)] * 5)
    assert_same([(b"", b"")] * 5)
    assert_same([(b"{}", b"{}"), (b'"', b"\\"), (b"\x00", b"null")] * 5)


def test_arrays_of_other_types_and_with_an_offset_are_decoded() -> None:
    messages = records("mariadb_shop")[:60]
    keys = pa.array([key for key, _ in messages], pa.large_binary())[10:]
    values = pa.array([value for _, value in messages], pa.binary())[10:]
    assert parse_batch(keys, values).to_pylist() == one_by_one(messages[10:])
