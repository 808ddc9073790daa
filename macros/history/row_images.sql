{#
    The row that each change of a table leaves, its columns as text.

    A change of the key (one UPDATE whose row before has another key) becomes a delete
    of the old key and an upsert of the new one. A DDL that rewrites or ends rows
    without row events becomes a change of each row that was there at the time.

    Arguments:
        changes: name of a relation with the columns of the model `changes`.
        columns: names of the table's columns, those that were dropped too.
        key_columns: names of the columns that identify a row. Empty for a table without
            a key: of that an UPDATE is the end of one row and the begin of another, and
            `row_copies` counts them.
        renames: mapping from a column to its names over time, a list of pairs (change
            sequence since when, name), for those that were renamed.
        rewritten_at: change sequences of the DDLs that change what a row holds.
        ended_at: change sequences of the DDLs that end every row (TRUNCATE, DROP).
        ended_where: pairs (change sequence, condition on the struct `image`) of the DDLs
            that end some rows (TRUNCATE PARTITION).
        arrivals: the rows that a DDL brings without row events (EXCHANGE PARTITION, or
            another key), a list of mappings: at (change sequence), relation (what
            `row_images` returned for the table they come from, which they leave then),
            columns (of that relation's image) and where (a condition on `image`).
        snapshots: change sequences at which all rows were sent again; a row that was not
            ends there.
        source_names: mapping from a column to its name in the messages, where that is
            another one: those of the model by default.

    Returns:
        A `select`: image (struct of strings), is_deleted, is_ddl, op, change_sequence
        (when the row came to be so), written_sequence (when the row was written; it
        has the columns of that time), held_at (to compare with the sequence of a DDL:
        greater, if the row was so under the schema after it), unavailable_columns,
        ends_if_new (of `placed_moves`, where `moves_are_unordered`),
        commit_ts, batch_id, kafka_partition, kafka_offset, event_index.

    Raises:
        A compiler error if there is no column, or no key where a DDL or a snapshot needs
        one.
#}
{% macro row_images(changes, columns, key_columns, renames={}, rewritten_at=[], ended_at=[], ended_where=[], arrivals=[], snapshots=[], source_names=none) -%}
    {%- if columns is string or not columns or key_columns is string -%}
        {{ exceptions.raise_compiler_error(
            "`row_images`: expected lists of names in `columns` and `key_columns`, got "
            ~ columns ~ " and " ~ key_columns
        ) }}
    {%- endif -%}
    {%- if not key_columns and (rewritten_at or ended_at or ended_where or snapshots) -%}
        {{ exceptions.raise_compiler_error(
            "`row_images`: what a DDL or a snapshot does to rows without a key, `row_copies` has to tell"
        ) }}
    {%- endif -%}
    {%- set key_texts = [] -%}
    {%- set old_key_differs = [] -%}
    {%- for column in key_columns -%}
        {%- set name = changefold.quoted(column) -%}
        {%- do key_texts.append('image.' ~ name) -%}
        {%- do old_key_differs.append('old_key.' ~ name ~ ' <> image.' ~ name) -%}
    {%- endfor -%}
    {%- set source_names = (config.get('source_names') or {}) if source_names is none else source_names -%}
    {%- set sent = columns | list -%}
    {%- for names in renames.values() -%}
        {%- for _, name in names if name not in sent -%}{%- do sent.append(name) -%}{%- endfor -%}
    {%- endfor -%}
    {%- set ddl = [] -%}
    {%- for sequence in rewritten_at -%}
        {%- do ddl.append(changefold._met(sequence, 'false')) -%}
    {%- endfor -%}
    {%- for sequence in ended_at -%}
        {%- do ddl.append(changefold._met(sequence, 'true')) -%}
    {%- endfor -%}
    {%- for sequence, condition in ended_where -%}
        {%- do ddl.append('if(' ~ condition ~ ', ' ~ changefold._met(sequence, 'true') ~ ', null)') -%}
    {%- endfor -%}
    {%- for sequence in snapshots -%}
        {%- do ddl.append(changefold._met(sequence, 'true', is_snapshot='true')) -%}
    {%- endfor %}
    with

    read as (

        select
            *,
            {{ changefold._texts_in('coalesce(after, before_sent)', sent, source_names) }} as image
            {%- if key_columns %},
            {{ changefold._texts_in("if(op = 'u', before_sent, null)", key_columns, source_names) }} as old_key
            {%- endif %}
        from {{ changes }}

    ),

    split as (

        select
            *,
            explode(if(
                {{ old_key_differs | join(' or ') or "op = 'u'" }}, array('d', 'c'), array(op)
            )) as row_op
        from read

    ),

    keyed as (

        select
            {#- Only of a move: to put a row before together costs more than all else here. #}
            if(
                row_op = 'd' and op = 'u',
                {{ changefold._texts_in(changefold.before_image('before_sent', 'after'), sent, source_names) }},
                image
            ) as image,
            row_op = 'd' as is_deleted,
            row_op as op,
            row_op = 'd' and op = 'u' as is_move,
            change_sequence,
            change_sequence as written_sequence,
            false as is_ddl,
            unavailable_columns,
            commit_ts,
            batch_id,
            kafka_partition,
            kafka_offset,
            event_index
        from split
        {%- for arrival in arrivals %}
        union all
        select
            struct(
                {%- for name in sent %}
                {{ 'image.' ~ changefold.quoted(name) if name in arrival.columns else 'cast(null as string)' }} as {{ changefold.quoted(name) }}{{ ',' if not loop.last }}
                {%- endfor %}
            ) as image,
            false as is_deleted,
            'c' as op,
            false as is_move,
            change_sequence,
            change_sequence as written_sequence,
            true as is_ddl,
            unavailable_columns,
            commit_ts,
            batch_id,
            kafka_partition,
            kafka_offset,
            event_index
        from {{ arrival.relation }}
        where
            is_deleted
            and is_ddl
            and change_sequence = '{{ arrival.at }}'
            and {{ arrival.where or 'true' }}
        {%- endfor %}

    )
    {%- if renames %},

    named as (

        select
            * except (image),
            struct(
                {%- for column in columns %}
                {{ changefold._name_when_written(column, renames) }} as {{ changefold.quoted(column) }}{{ ',' if not loop.last }}
                {%- endfor %}
            ) as image
        from keyed

    )
    {%- endif %}
    {%- set keyed = 'named' if renames else 'keyed' %}
    {%- set is_unordered = changefold.moves_are_unordered() %}
    {%- if is_unordered %},

    placed as (

        {{ changefold.placed_moves(keyed, key_texts, ended_at) }}

    )
    {%- set keyed = 'placed' %}
    {%- endif %}
    {%- if not ddl %}

    select
        image,
        is_deleted,
        is_ddl,
        op,
        change_sequence,
        written_sequence,
        concat(change_sequence, if(is_ddl, '~', '')) as held_at,
        unavailable_columns,
        {%- if is_unordered %}
        ends_if_new,
        {%- endif %}
        commit_ts,
        batch_id,
        kafka_partition,
        kafka_offset,
        event_index
    from {{ keyed }}
    {%- else %},

    followed as (

        select
            *,
            lead(change_sequence) over (
                partition by {{ key_texts | join(', ') }}
                order by
                    change_sequence,
                    is_ddl,
                    is_deleted desc,
                    kafka_partition,
                    kafka_offset,
                    event_index
            ) as next_sequence
        from {{ keyed }}

    ),

    -- The DDLs that met the row as this change left it: a row with the DDL's own
    -- timestamp was there before it, one with a snapshot's own is of that snapshot.
    -- After the first end there is no row.
    met as (

        select
            *,
            filter(
                array_sort(array({{ ddl | join(', ') }})),
                ddl -> if(
                    is_ddl or ddl.is_snapshot,
                    ddl.at > change_sequence,
                    ddl.at >= change_sequence
                )
                and (next_sequence is null or ddl.up_to < next_sequence)
                and not is_deleted
            ) as ddls
        from followed

    ),

    bounded as (

        select
            *,
            explode(concat(
                array(named_struct('at', change_sequence, 'ends', is_deleted, 'is_ddl', is_ddl)),
                transform(
                    filter(
                        ddls,
                        ddl -> ddl.at <= coalesce(
                            array_min(transform(filter(ddls, other -> other.ends), other -> other.at)),
                            ddl.at
                        )
                    ),
                    ddl -> named_struct('at', ddl.at, 'ends', ddl.ends, 'is_ddl', true)
                )
            )) as moment
        from met

    )

    select
        image,
        moment.ends as is_deleted,
        moment.is_ddl,
        case
            when moment.ends then 'd'
            when moment.at = change_sequence then op
            else 'u'
        end as op,
        moment.at as change_sequence,
        written_sequence,
        concat(moment.at, if(moment.is_ddl, '~', '')) as held_at,
        unavailable_columns,
        {%- if is_unordered %}
        ends_if_new and moment.at = change_sequence as ends_if_new,
        {%- endif %}
        commit_ts,
        batch_id,
        kafka_partition,
        kafka_offset,
        event_index
    from bounded
    {%- endif %}
{%- endmacro %}


{#
    What a row can meet: a DDL, or a snapshot that may not have it. The rows of a snapshot
    of Debezium have one position, and each the time at which it was read.
#}
{% macro _met(sequence, ends, is_snapshot='false') -%}
    {{ return(
        "named_struct('at', '" ~ sequence ~ "', 'ends', " ~ ends
        ~ ", 'is_snapshot', " ~ is_snapshot
        ~ ", 'up_to', '" ~ (changefold.end_of_position(sequence) if is_snapshot == 'true' else sequence) ~ "')"
    ) }}
{%- endmacro %}


{# A column's text under the name that it had when the row was written. #}
{% macro _name_when_written(column, renames) -%}
    {%- set steps = [] -%}
    {%- for since, name in renames.get(column) or [('', column)] -%}
        {%- do steps.append((since, 'image.' ~ changefold.quoted(name))) -%}
    {%- endfor -%}
    {{ return(changefold.by_moment('change_sequence', steps)) }}
{%- endmacro %}


{# A struct of a row's texts. A cast gives columns other names: it goes by their place. #}
{% macro _texts_in(row, columns, source_names) -%}
    {%- set sent = [] -%}
    {%- for column in columns -%}
        {%- do sent.append(source_names.get(column, column)) -%}
    {%- endfor -%}
    {%- set texts = 'from_json(' ~ row ~ ', ' ~ sql_text(changefold.json_schema(sent)) ~ ')' -%}
    {%- if sent == columns | list -%}
        {{ return(texts) }}
    {%- endif -%}
    {{ return('cast(' ~ texts ~ ' as struct<' ~ changefold.json_schema(columns) ~ '>)') }}
{%- endmacro %}


{# A Spark schema in which every named column is text. #}
{% macro json_schema(columns) -%}
    {%- set parts = [] -%}
    {%- for column in columns -%}
        {%- do parts.append('`' ~ (column | replace('`', '``')) ~ '` string') -%}
    {%- endfor -%}
    {{ return(parts | join(', ')) }}
{%- endmacro %}
