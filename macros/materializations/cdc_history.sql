{#
    A history table: rebuilt from the change log, or merged with the versions that the
    statement returns, or left alone when there is nothing for it.

    Killed between the merge and the note of what was applied, the next run merges the
    same changes again, which changes nothing.
#}
{% materialization cdc_history, adapter='sparksession' %}
    {%- set relation = this.incorporate(type='table') -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set state = changefold.history_state() -%}
    {%- set cut = changefold.applied_cuts().get(config.get('topic'), {}) -%}
    {{ run_hooks(pre_hooks) }}
    {%- if state.is_increment and not state.has_unapplied -%}
        {%- do changefold._skipped('nothing new') -%}
    {%- else -%}
        {%- set applied = {
            'changefold.batch_id': cut.get('batch_id', 0),
            'changefold.cut_sequence': cut.get('cut_sequence') or '',
            'changefold.last_sequence': changefold.last_sequence_of_table(),
            'changefold.shape': state.shape,
        } -%}
        {%- if state.is_increment -%}
            {%- call statement('main') -%}
                {{ changefold.merge_versions(relation, compiled_code) }}
            {%- endcall -%}
            {%- do run_query(
                'alter table ' ~ relation ~ ' set tblproperties ('
                ~ changefold.property_list(applied.items()) ~ ')'
            ) -%}
        {%- else -%}
            {%- if state.exists -%}
                {{ log('Rebuilding ' ~ relation ~ ': its model or the DDL of its table has changed, or a change came late, from before a DDL', info=True) }}
            {%- endif -%}
            {%- if existing is not none and existing.type == 'view' -%}
                {%- do adapter.drop_relation(existing) -%}
            {%- endif -%}
            {%- call statement('main') -%}
                {{ changefold.create_table_with(
                    relation, compiled_code, changefold._write_distribution() | items | list + applied | items | list
                ) }}
            {%- endcall -%}
        {%- endif -%}
    {%- endif -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [relation]}) }}
{% endmaterialization %}


{#
    How the rows of a history are brought to its files, unless the model says it.

    A rebuild writes them where they are: by `is_current`, Iceberg's way for partitions,
    they would all go to two tasks. A merge brings together what belongs to one file.

    Returns:
        A mapping of table properties.
#}
{% macro _write_distribution() %}
    {%- set properties = {
        'write.distribution-mode': 'none',
        'write.merge.distribution-mode': 'hash',
        'write.spark.fanout.enabled': 'true',
    } -%}
    {%- for name in config.get('tblproperties') or {} -%}
        {%- do properties.pop(name, none) -%}
    {%- endfor -%}
    {{ return(properties) }}
{% endmacro %}


{#
    The statement that brings new and moved versions into a history table. Its columns
    were compared with the contract when the table was made by the same model.

    Arguments:
        relation: the table.
        versions: a `select` of versions, as `history_versions` returns.

    Returns:
        A `merge` statement.
#}
{% macro merge_versions(relation, versions) -%}
merge into {{ relation }} as history
using (
    {{ versions }}
) as versions
on
    {%- for key in config.get('key_columns') %}
    history.{{ changefold.quoted(key) }} <=> versions.{{ changefold.quoted(key) }} and
    {%- endfor %}
    history._cdc_valid_from_sequence = versions._cdc_valid_from_sequence
    and ({{ changefold.may_be_touched() }})
when matched and versions._cdc_valid_to_sequence = versions._cdc_valid_from_sequence
    then delete
when matched and versions._cdc_op is not null then update set *
when matched then update set
    history.valid_to = versions.valid_to,
    history.is_current = versions.is_current,
    history._cdc_valid_to_sequence = versions._cdc_valid_to_sequence
when not matched then insert *
{%- endmacro %}
