{#
    Change sequences, and what they tell. One is text that sorts like the changes of its
    topic; only this file and `schemas/ordering.py` look inside one:

    | Source | Sequence |
    | --- | --- |
    | TiCDC | commit timestamp (TSO) in 20 digits |
    | TiCDC without the TiDB extension | millisecond of the commit as the TSO, `:`, offset |
    | Debezium, Canal | epoch of the log, `/`, position in it, `/`, place, `@`, millisecond |
    | compacted topic | likewise: the position is the time of the record in Kafka |

    The place is `~`, the highest place within the position that the partition has reached,
    partition, offset: Canal's DDLs are in partition 0, and come first. Of a row that a
    snapshot of the table read it is the millisecond of the reading, so what it read is
    before the changes.
    What has the `:` tells no more of the commit than its millisecond, in which others lie.
#}


{#
    The sequence of a change of TiCDC. With and without the TiDB extension it compares: a
    topic may switch to it.

    Arguments:
        commit_ts: expression, TSO or null.
        es_ms: expression, epoch milliseconds of the commit.
        kafka_offset: expression; orders the changes of one partition only.

    Returns:
        An expression of type string.
#}
{% macro ticdc_sequence(commit_ts, es_ms, kafka_offset) -%}
    coalesce(
        lpad(cast({{ commit_ts }} as string), 20, '0'),
        concat(
            lpad(cast(shiftleft({{ es_ms }}, 18) as string), 20, '0'),
            ':',
            lpad(cast({{ kafka_offset }} as string), 19, '0')
        )
    )
{%- endmacro %}


{#
    The sequence of a change whose log is read in order: of Debezium, of Canal, or in a
    compacted topic.

    Arguments:
        epoch: expression, number of the servers before that one.
        position: expression, text that sorts like the log.
        read_ms: expression, epoch milliseconds at which a snapshot read the row; null of
            a change. Rows of a snapshot have one position in many partitions: where a
            source at rest is read again, the time tells the one from the other.
        place: expression, text that sorts like the changes at the position in different
            partitions; empty where none is known.
        kafka_partition: expression.
        kafka_offset: expression; orders the changes at one position.
        at_ms: expression, epoch milliseconds: the time of the change.

    Returns:
        An expression of type string.
#}
{% macro log_sequence(epoch, position, read_ms, place, kafka_partition, kafka_offset, at_ms) -%}
    concat(
        lpad(cast({{ epoch }} as string), 5, '0'),
        '/',
        {{ position }},
        '/',
        coalesce(
            lpad(cast({{ read_ms }} as string), 13, '0'),
            concat(
                '~',
                {{ place }},
                '.',
                lpad(cast({{ kafka_partition }} as string), 5, '0'),
                '.',
                lpad(cast({{ kafka_offset }} as string), 19, '0')
            )
        ),
        '@',
        lpad(cast({{ at_ms }} as string), 13, '0')
    )
{%- endmacro %}


{#
    The wall-clock time that a change sequence stands for.

    Arguments:
        change_sequence: expression.

    Returns:
        An expression of type timestamp, to the millisecond.
#}
{% macro sequence_timestamp(change_sequence) -%}
    timestamp_millis(
        if(
            contains({{ change_sequence }}, '@'),
            cast(left(split_part({{ change_sequence }}, '@', 2), 13) as bigint),
            shiftright(try_cast(left({{ change_sequence }}, 20) as bigint), 18)
        )
    )
{%- endmacro %}


{#
    Whether others may lie in the moment of a change, as its sequence tells no more of the
    commit than its millisecond.

    Arguments:
        change_sequence: expression.

    Returns:
        A condition.
#}
{% macro is_millisecond(change_sequence) -%}
    substr({{ change_sequence }}, 21, 1) = ':'
{%- endmacro %}


{#
    Whether the position of a change is that of its commit (of MySQL and MariaDB, of the
    event) in the log of its source: so of changes of Debezium, where a position is known.

    Arguments:
        change_sequence: expression.

    Returns:
        A condition.
#}
{% macro has_commit_position(change_sequence) -%}
    {{ change_sequence }} rlike '^[0-9]+/[0-9a-f][^/]*[.]1/~'
{%- endmacro %}


{#
    Whether two changes of Canal are of one batch, so that nothing tells which one was first, if
    they are of different partitions.

    Arguments:
        change_sequence: expression.
        other_sequence: expression.

    Returns:
        A condition.
#}
{% macro are_of_one_batch(change_sequence, other_sequence) -%}
    {{ change_sequence }} like '%/m%'
                and {{ changefold.position_of(change_sequence) }}
                = {{ changefold.position_of(other_sequence) }}
{%- endmacro %}


{#
    The moment of a change: the commit or, where the sequence tells no more, its
    millisecond; of Canal that of the message, as keys move between partitions in it.
    It sorts before all changes of the moment, and behind those before it.

    Arguments:
        change_sequence: expression.

    Returns:
        An expression of type string.
#}
{% macro moment_of(change_sequence) -%}
    case
        when {{ changefold.is_millisecond(change_sequence) }} then left({{ change_sequence }}, 20)
        when
            {{ change_sequence }} like '%/m%'
            or {{ changefold.has_commit_position(change_sequence) }}
            then {{ changefold.position_of(change_sequence) }}
        else {{ change_sequence }}
    end
{%- endmacro %}


{# The same of a sequence that is known while a model compiles. #}
{% macro moment_of_text(change_sequence) -%}
    {%- if '/m' in change_sequence
        or modules.re.match('[0-9]+/[0-9a-f][^/]*[.]1/~', change_sequence) -%}
        {{ return(change_sequence.split('/')[:2] | join('/')) }}
    {%- endif -%}
    {{ return(change_sequence[:20] if change_sequence[20:21] == ':' else change_sequence) }}
{%- endmacro %}


{#
    A sequence behind all changes at the position of a change, with its time.

    Arguments:
        change_sequence: expression.

    Returns:
        An expression of type string.
#}
{% macro behind_position(change_sequence) -%}
    concat({{ changefold.position_of(change_sequence) }}, '/~@', right({{ change_sequence }}, 13))
{%- endmacro %}


{#
    The epoch and the position in the log of a change of Debezium or Canal.

    Arguments:
        change_sequence: expression.

    Returns:
        An expression of type string: what the sequences at that position begin with.
#}
{% macro position_of(change_sequence) -%}
    substring_index({{ change_sequence }}, '/', 2)
{%- endmacro %}


{#
    The epoch of a change of Debezium: how many servers the log had before.

    Arguments:
        change_sequence: expression.

    Returns:
        An expression of type int.
#}
{% macro epoch_of(change_sequence) -%}
    cast(split_part({{ change_sequence }}, '/', 1) as int)
{%- endmacro %}


{#
    Whether the source tells no position in its log for a change of Debezium, only a time.

    Arguments:
        change_sequence: expression.

    Returns:
        A condition.
#}
{% macro lacks_position(change_sequence) -%}
    split_part({{ change_sequence }}, '/', 2) like 't%'
{%- endmacro %}
