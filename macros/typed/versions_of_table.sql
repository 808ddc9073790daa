{#
    The versions of the rows of a table, their columns as texts, under the columns of the time.

    A DDL that adds, drops or renames a column sends no rows: there a version ends, and the
    next one has the same image under other columns.

    Arguments:
        columns: names of the table's columns, those that were dropped too.
        renames: mapping from a column to its names over time, a list of pairs (change
            sequence since when, name), for those that were renamed.
        ddls: change sequences of the DDLs that changed columns.

    Returns:
        A `select`: image (struct of strings, under the names of `columns`), written_sequence
        (when the row was written; it has the columns of that time), held_at (to compare
        with the sequence of a DDL: greater, if the version is one under the schema after
        it), from_sequence, to_sequence, is_open, ended_by, op, commit_ts, batch_id, row_key,
        row_copy, row_hash, version_id, untold_columns (an array).
#}
{% macro versions_of_table(columns, renames={}, ddls=[]) -%}
    {%- set source_names = config.get('source_names') or {} -%}
    {%- set sent = columns | list -%}
    {%- for names in renames.values() -%}
        {%- for _, name in names if name not in sent -%}{%- do sent.append(name) -%}{%- endfor -%}
    {%- endfor -%}
    {%- set kept = [
        'written_sequence', 'op', 'commit_ts', 'batch_id', 'row_key', 'row_copy', 'row_hash',
        'version_id',
    ] | join(', ') -%}
    with

    versions as (

        select
            *,
            from_sequence as written_sequence,
            {{ changefold.version_id() }} as version_id,
            {{ changefold._texts_in('image', sent, source_names) }} as texts
        from {{ ref('changefold', 'row_versions') }}
        where
            kafka_topic = {{ sql_text(config.get('topic')) }}
            and ({{ changefold._is_of_lives(config.get('lives') or []) }})
            and (is_open or from_sequence < to_sequence)
            {%- if model.shown_up_to is defined %}
            and {{ changefold.is_of_later_fold(model.shown_up_to) }}
            {%- endif %}

    ),

    named as (

        select
            {{ kept }},
            from_sequence,
            to_sequence,
            is_open,
            ended_by,
            {%- if renames %}
            struct(
                {%- for column in columns %}
                {{ changefold._text_when_written(column, renames) }} as {{ changefold.quoted(column) }}{{ ',' if not loop.last }}
                {%- endfor %}
            ) as image,
            {%- else %}
            texts as image,
            {%- endif %}
            {{ changefold._model_names('unknown_columns', columns, renames, source_names) }}
                as untold_columns
        from versions

    )

    {%- if not ddls %}

    select
        {{ kept }},
        image,
        written_sequence as held_at,
        from_sequence,
        to_sequence,
        is_open,
        ended_by,
        untold_columns
    from named
    {%- else %},

    -- A version with a DDL's own sequence was there before it.
    met as (

        select
            *,
            filter(
                array('{{ ddls | join("', '") }}'),
                ddl -> ddl >= from_sequence and ddl < coalesce(to_sequence, '~')
            ) as ddls
        from named

    ),

    begins as (

        select
            *,
            array_distinct(concat(array(from_sequence), ddls)) as begins
        from met

    )

    -- Two halves, so that who asks for open versions reads no others.
    select
        {{ kept }},
        image,
        concat(element_at(begins, -1), if(cardinality(ddls) > 0, '~', '')) as held_at,
        element_at(begins, -1) as from_sequence,
        to_sequence,
        true as is_open,
        ended_by,
        untold_columns
    from begins
    where is_open
    union all
    select
        {{ kept }},
        image,
        concat(begins[place], if(array_contains(ddls, begins[place]), '~', '')) as held_at,
        begins[place] as from_sequence,
        coalesce(try_element_at(begins, place + 2), to_sequence) as to_sequence,
        false as is_open,
        if(try_element_at(begins, place + 2) is null, ended_by, 'ddl') as ended_by,
        untold_columns
    from begins
        lateral view explode(sequence(0, cardinality(begins) - 1)) as place
    where coalesce(try_element_at(begins, place + 2), to_sequence) is not null
    {%- endif %}
{%- endmacro %}


{# What tells a version in `row_versions` from all others: a hash, as text. #}
{% macro version_id() -%}
    md5(concat_ws('\n', kafka_topic, table_uid, row_key, row_copy, from_sequence))
{%- endmacro %}


{# Condition: a version is of one of the lives of a table, under the key that it had then. #}
{% macro _is_of_lives(lives) -%}
    {%- set conditions = [] -%}
    {%- for life in lives -%}
        {%- do conditions.append(
            'table_uid = ' ~ sql_text(life.table_uid)
            ~ " and key_since = '" ~ (life.key_since or '') ~ "'"
        ) -%}
    {%- endfor -%}
    {%- if execute and not lives -%}
        {{ exceptions.raise_compiler_error(
            "`versions_of_table`: expected the config `lives` of the model to tell whose versions it shows, got none"
        ) }}
    {%- endif -%}
    {{ return(conditions | join(' or ') or 'false') }}
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


{# The names of a column at the source over time, pairs of a change sequence and a name. #}
{% macro _names_of_column(column, renames) -%}
    {{ return(renames.get(column) or [('', column)]) }}
{%- endmacro %}


{# A column's text under the name that it had when the row was written. #}
{% macro _text_when_written(column, renames) -%}
    {%- set steps = [] -%}
    {%- for since, name in changefold._names_of_column(column, renames) -%}
        {%- do steps.append((since, 'texts.' ~ changefold.quoted(name))) -%}
    {%- endfor -%}
    {{ return(changefold.by_moment('written_sequence', steps)) }}
{%- endmacro %}


{# An array of names that the source's columns had when the row was written, as the model's. #}
{% macro _model_names(names, columns, renames, source_names) -%}
    {%- if not renames and not source_names -%}
        {{ return(names) }}
    {%- endif -%}
    {%- set entries = [] -%}
    {%- for column in columns -%}
        {%- set steps = [] -%}
        {%- for since, name in changefold._names_of_column(column, renames) -%}
            {%- do steps.append((since, sql_text(source_names.get(name, name)))) -%}
        {%- endfor -%}
        {%- do entries.append(
            'if(array_contains(' ~ names ~ ', ' ~ changefold.by_moment('written_sequence', steps)
            ~ '), ' ~ sql_text(column) ~ ', null)'
        ) -%}
    {%- endfor -%}
    nullif(array_compact(array({{ entries | join(', ') }})), array())
{%- endmacro %}


{#
    What holds at a change sequence, of expressions that follow each other.

    Arguments:
        sequence: name of a column, a change sequence.
        steps: pairs of a change sequence since when, and an expression; the first one holds
            from the beginning.

    Returns:
        An expression.
#}
{% macro by_moment(sequence, steps) -%}
    {%- set arms = [] -%}
    {%- for since, expression in steps[1:] | reverse -%}
        {%- do arms.append('when ' ~ sequence ~ " > '" ~ since ~ "' then " ~ expression) -%}
    {%- endfor -%}
    {{ return(
        'case ' ~ arms | join(' ') ~ ' else ' ~ steps[0][1] ~ ' end' if arms else steps[0][1]
    ) }}
{%- endmacro %}


{#
    Typed versions of rows, as a model shows them.

    Arguments:
        typed: name of a relation: what `versions_of_table` returns, record (struct of the
            table's columns), unknown_columns (those of which a DDL left no value).
        columns: names of the columns whose conversion can fail.
        rounded: as of `conversion_failures`.
        has_key: false for a table without a key, whose equal rows have numbers.

    Returns:
        A `select`: the columns, valid_from, valid_to, is_current and bookkeeping.
#}
{% macro typed_versions(typed, columns, rounded=[], has_key=true) -%}
    select
        record.*,
        {%- if not has_key %}
        cast(row_copy as bigint) as _cdc_copy,
        {%- endif %}
        {{ changefold.sequence_timestamp('from_sequence') }} as valid_from,
        if(
            to_sequence is null,
            null,
            greatest(
                {{ changefold.sequence_timestamp('from_sequence') }},
                {{ changefold.sequence_timestamp('to_sequence') }}
            )
        ) as valid_to,
        is_open as is_current,
        rtrim('~', from_sequence) as _cdc_valid_from_sequence,
        rtrim('~', to_sequence) as _cdc_valid_to_sequence,
        if(from_sequence = written_sequence, op, 'u') as _cdc_op,
        case ended_by
            when 'u' then 'update'
            when 'd' then 'delete'
            else ended_by
        end as _cdc_ended_by,
        commit_ts as _cdc_commit_ts,
        batch_id as _cdc_batch_id,
        {{ changefold.conversion_failures('image', 'record', columns, rounded) }}
            as _cdc_conversion_failures,
        nullif(
            array_distinct(concat(
                coalesce(untold_columns, array()), coalesce(unknown_columns, array())
            )),
            array()
        ) as _cdc_unknown_columns,
        {{ "lower(hex(row_hash))" if has_key else 'row_key' }} as _cdc_row_hash,
        version_id as _cdc_version_id
    from {{ typed }}
{%- endmacro %}
