"""What a batch takes from Kafka, and what its refusals mean."""

import pytest
from dbt_common.exceptions import DbtRuntimeError
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.sparksession.kafka import (
    Available,
    Landed,
    Slice,
    bound,
    sentence,
    slices_of,
)

ID = "id-of-the-topic"


def test_a_batch_goes_from_what_landed_to_what_is_there() -> None:
    found = [Available("shop", 0, ID, 0, 90), Available("shop", 1, ID, 0, 10)]
    landed = [Landed("shop", 0, ID, 40)]
    assert slices_of("shop", found, landed) == [
        Slice("shop", 0, ID, 40, 90, 90, 40),
        Slice("shop", 1, ID, 0, 10, 10, 0),
    ]


def test_what_kafka_deleted_before_it_landed_is_told() -> None:
    found = [Available("shop", 0, ID, 60, 90)]
    (taken,) = slices_of("shop", found, [Landed("shop", 0, ID, 40)])
    assert (taken.lost_from, taken.start_offset) == (40, 60)


def test_of_a_topic_that_is_new_here_nothing_is_lost() -> None:
    (taken,) = slices_of("shop", [Available("shop", 0, ID, 60, 90)], [])
    assert (taken.lost_from, taken.start_offset) == (60, 60)


def test_a_topic_that_was_made_again_is_refused_by_its_id() -> None:
    found = [Available("shop", 0, "another", 0, 900)]
    with pytest.raises(DbtRuntimeError, match=r"`shop` was deleted and made again"):
        slices_of("shop", found, [Landed("shop", 0, ID, 40)])


def test_a_partition_that_ends_before_what_landed_is_refused() -> None:
    found = [Available("shop", 0, ID, 0, 30)]
    with pytest.raises(
        DbtRuntimeError, match=r"ends before offset 30, but all before 40"
    ):
        slices_of("shop", found, [Landed("shop", 0, "", 40)])


@given(
    backlogs=st.lists(st.integers(0, 10**7), min_size=1, max_size=9),
    most=st.integers(1, 10**6),
)
def test_bounded_batches_land_all_in_the_end_and_are_never_much_larger(
    backlogs: list[int], most: int
) -> None:
    slices = [
        Slice("shop", number, ID, 0, end, end, 0) for number, end in enumerate(backlogs)
    ]
    bounded = bound(slices, most)
    sizes = [part.end_offset for part in bounded]
    assert sum(sizes) <= most + len(backlogs)
    assert all(size <= backlog for size, backlog in zip(sizes, backlogs, strict=True))
    assert all(
        size > 0 for size, backlog in zip(sizes, backlogs, strict=True) if backlog
    )
    assert [part.remaining for part in bounded] == [
        backlog - size for size, backlog in zip(sizes, backlogs, strict=True)
    ]


def test_without_a_bound_all_is_taken() -> None:
    part = Slice("shop", 0, ID, 5, 90, 90, 5)
    assert bound([part], None) == [part]


@pytest.mark.parametrize(
    ("message", "meaning"),
    [
        (
            (
                "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors."
                "UnknownTopicOrPartitionException: This server does not host it."
            ),
            "there is no such topic",
        ),
        (
            (
                "ExecutionException: org.apache.kafka.common.errors.SaslAuthenticationException:"
                " Authentication failed: Invalid username or password"
            ),
            "it refuses the user",
        ),
        (
            (
                "ExecutionException: org.apache.kafka.common.errors.SslAuthenticationException:"
                " SSL handshake failed"
            ),
            "no secure connection",
        ),
        (
            (
                "ExecutionException: org.apache.kafka.common.errors.TopicAuthorizationException:"
                " Not authorized to access topics: [shop]"
            ),
            "may not describe or read",
        ),
        (
            (
                "org.apache.kafka.common.KafkaException: Failed to create new KafkaAdminClient\n"
                "Caused by: org.apache.kafka.common.config.ConfigException: No resolvable "
                "bootstrap urls given in bootstrap.servers"
            ),
            "its address or another of its properties is wrong",
        ),
        (
            (
                "ExecutionException: org.apache.kafka.common.errors.TimeoutException: Timed out "
                "waiting for a node assignment. Call: describeTopics"
            ),
            "no broker answers",
        ),
        ("java.lang.IllegalStateException: odd", "could not be asked"),
    ],
)
def test_a_refusal_names_the_topic_the_servers_and_what_it_means(
    message: str, meaning: str
) -> None:
    said = sentence("shop", {"bootstrap.servers": "kafka:9092"}, message)
    assert "topic `shop`" in said
    assert "kafka:9092" in said
    assert meaning in said
    assert message.rsplit("Exception: ", 1)[-1] in said
