"""The error of a message holds no more than its sentence."""

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from changefold.errors import CdcDecodeError
from changefold.protocols.canal_json import read_canal_json
from changefold.protocols.debezium import read_debezium
from changefold.protocols.simple_avro import read_simple_avro
from changefold.protocols.simple_json import read_simple

Read = Callable[[bytes], CdcDecodeError | None]

READERS: dict[str, Read] = {
    "canal_json": lambda value: read_canal_json(value).error,
    "simple_json": lambda value: read_simple(value).error,
    "simple_avro": lambda value: read_simple_avro(value).error,
    "debezium": lambda value: read_debezium(None, value).error,
    "key": lambda key: read_debezium(key, b'{"op":"c"}').error,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize(
    "value", [b'{"a":' + b" " * 100_000, b'{"b":1}', b"\x04\x22\x4d\x18"]
)
def test_a_bad_message_is_not_held_by_its_error(read: Read, value: bytes) -> None:
    errors = [read(value)]
    gc.collect()
    tracemalloc.start()
    try:
        errors += [read(bytes(bytearray(value))) for _ in range(50)]
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1_000_000
    for error in errors:
        assert error is not None
        assert error.__traceback__ is None
        assert error.__context__ is None
