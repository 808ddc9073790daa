"""Open messages that TiCDC has compressed, each by itself.

A changefeed with ``large-message-handle-compression`` compresses the value of every
message, watermarks and DDLs too, and no header says so: the bytes tell. LZ4 comes as a
frame, which begins with a magic number. Snappy comes as one block, which begins with
the length of the message and then, as nothing can be repeated yet, with bytes of it.

Source: TiCDC's ``pkg/compression``, which calls the frame writer of pierrec/lz4 and
``snappy.Encode``.
"""

from typing import Final

import pyarrow as pa

from changefold.errors import CdcDecodeError
from changefold.json.parse import MAX_MESSAGE_BYTES

__all__ = ["JSON_START", "decompress"]

JSON_START: Final = b"{"
"""First byte of a message in JSON."""

_PLAIN_JSON: Final = b'{"'
_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_PIECE: Final = 256 * 1024


def decompress(value: bytes | None, start: bytes) -> bytes | None:
    """Return a message as it was before it was compressed, if it was.

    Args:
        value: The value of the Kafka record.
        start: First byte of a message that is not compressed.

    Returns:
        The message; ``value`` itself if it is not compressed.

    Raises:
        CdcDecodeError: If it was compressed and is broken now, or is larger than
            `MAX_MESSAGE_BYTES`.
    """
    if value is None or value.startswith(_PLAIN_JSON):
        return value
    if value.startswith(_LZ4_MAGIC):
        return _from_lz4(value)
    size = _size_of_snappy(value, start)
    if size is None:
        return value
    try:
        return _from_snappy(value, size)
    except CdcDecodeError:
        # A length of 123 looks like a brace.
        if value[:1] in {start, b" ", b"\t", b"\n", b"\r"}:
            return value
        raise


def _size_of_snappy(value: bytes, start: bytes) -> int | None:
    """Return the length of the message in a block of Snappy; ``None`` if it is none.

    The block has the length in groups of 7 bits, the lowest first, then a tag: its low
    bits are 0 for bytes that follow, its high bits their number less 1, or from 60 on
    how many bytes that number takes.
    """
    size = 0
    for place, byte in enumerate(value[:5]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            break
    else:
        return None
    tag = value[place + 1 : place + 2]
    if not tag or tag[0] & 3:
        return None
    first = place + 2 + max((tag[0] >> 2) - 59, 0)
    return size if value[first : first + 1] == start else None


def _from_snappy(value: bytes, size: int) -> bytes:
    if size > MAX_MESSAGE_BYTES:
        raise _too_large(f"{size}")
    try:
        message: bytes = pa.decompress(
            value, decompressed_size=size, codec="snappy", asbytes=True
        )
    except (OSError, pa.ArrowException) as error:
        raise _broken("Snappy", error) from None
    return message


def _from_lz4(value: bytes) -> bytes:
    pieces = []
    left = MAX_MESSAGE_BYTES + 1
    try:
        with pa.CompressedInputStream(pa.BufferReader(value), "lz4") as stream:
            # A larger piece would take its memory before it is known to be needed. Of one
            # that is broken, pyarrow's `read` never frees the memory.
            while left and (piece := stream.read_buffer(min(left, _PIECE))).size:
                pieces.append(piece.to_pybytes())
                left -= piece.size
    except (OSError, pa.ArrowException) as error:
        raise _broken("LZ4", error) from None
    if not left:
        raise _too_large("more")
    return b"".join(pieces)


def _too_large(got: str) -> CdcDecodeError:
    return CdcDecodeError(
        "too_large",
        "$",
        f"Expected at most {MAX_MESSAGE_BYTES} bytes after decompression, got {got}",
    )


def _broken(codec: str, error: Exception) -> CdcDecodeError:
    return CdcDecodeError(
        "broken_compression",
        "$",
        f"Expected a message that {codec} has compressed "
        "(large-message-handle-compression), got one that can not be decompressed: "
        f"{str(error).rstrip('.')}",
    )
