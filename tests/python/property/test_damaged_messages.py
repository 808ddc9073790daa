"""No damage to a message makes a decoder raise, lose it or harm its neighbours.

A part of what `make fuzz` tries.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from changefold_tools.devtools.fuzz import BATCH, Fuzzer
from changefold_tools.devtools.mutations import AVRO, BYTES, JSON, RECORD
from changefold_tools.devtools.recorded_topics import DECODERS, read_topics

GOLDEN: Final = Path(__file__).parents[2] / "golden"


def test_decoders_survive_damaged_messages_of_every_recorded_topic() -> None:
    topics = read_topics(GOLDEN)
    # A batch of each topic.
    report = Fuzzer(topics, seed=20_000).run(BATCH * len(topics))
    assert not report.failures, "\n".join(map(str, report.failures))
    assert report.messages == BATCH * len(topics)
    assert report.kinds.keys() == DECODERS.keys()
    assert report.mutations.keys() == {*JSON, *AVRO, *BYTES, *RECORD}
    for kinds in report.kinds.values():
        # Else the damage is of no use, or is all that is seen.
        assert 0.1 < kinds["invalid"] / kinds.total() < 0.95
