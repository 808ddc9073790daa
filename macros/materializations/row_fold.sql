{#
    The versions of all rows: written anew from the whole log, or merged with those that the
    statement returns, or left alone when nothing is new.

    Killed between a merge and the note of what was folded, the next run folds the same
    changes again, which changes nothing.
#}
{% materialization row_fold, adapter='sparksession' %}
    {%- set relation = this.incorporate(type='table') -%}
    {{ run_hooks(pre_hooks) }}
    {%- set state = changefold.fold_state() -%}
    {%- set passes = changefold.later_passes(state) -%}
    {%- set properties = [('changefold.folded', tojson(state.note))] -%}
    {%- set unfinished = [('changefold.folded', tojson({'number': state.number}))] -%}
    {%- if not state.goes_on -%}
        {%- if state.noted -%}
            {{ log('Rebuilding ' ~ relation ~ ' from the whole log: its model or a rule of a filter has changed, or what the last build knew of tables is gone', info=True) }}
        {%- endif -%}
        {%- set histories = changefold._histories_that_are_tables() -%}
        {%- if histories -%}
            {{ log(histories | length ~ ' histories that are tables (`' ~ histories[0] ~ '`, ...) become views of ' ~ relation ~ ': the whole log is folded into it once', info=True) }}
        {%- endif -%}
        {%- call statement('main') -%}
            {{ changefold.create_table_with(
                relation, compiled_code,
                changefold.write_properties() | items | list + (unfinished if passes else properties)
            ) }}
        {%- endcall -%}
    {%- elif state.news -%}
        {%- call statement('main') -%}
            {{ changefold.merge_folded(relation, compiled_code, state) }}
        {%- endcall -%}
    {%- else -%}
        {%- do changefold._skipped('nothing new') -%}
    {%- endif -%}
    {%- for pass in passes -%}
        {%- do model.update({'fold': pass}) -%}
        {%- call statement('main') -%}
            {{ changefold.merge_folded(relation, render(model.raw_code), pass) }}
        {%- endcall -%}
    {%- endfor -%}
    {%- if passes or (state.goes_on and state.note != state.noted) -%}
        {%- do run_query(
            'alter table ' ~ relation ~ ' set tblproperties ('
            ~ changefold.property_list(properties) ~ ')'
        ) -%}
    {%- endif -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [relation]}) }}
{% endmaterialization %}


{# Names of the histories that a version before `row_versions` has built as tables. #}
{% macro _histories_that_are_tables() %}
    {%- set names = [] -%}
    {%- for node in graph.nodes.values()
        if node.config.get('lives') and node.config.materialized == 'view' -%}
        {%- set existing = load_cached_relation(
            api.Relation.create(schema=node.schema, identifier=node.alias)
        ) -%}
        {%- if existing is not none and existing.type == 'table' -%}
            {%- do names.append(node.alias) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}


{#
    How the rows of a table of versions are brought to its files, unless the model says it.

    A rebuild writes them where they are: by the partition, Iceberg's way, they would all
    go to two tasks. A merge brings together what belongs to one file, and leaves the
    files of before alone.

    Returns:
        A mapping of table properties.
#}
{% macro write_properties() %}
    {%- set properties = {
        'write.distribution-mode': 'none',
        'write.merge.distribution-mode': 'hash',
        'write.merge.mode': 'merge-on-read',
        'write.parquet.row-group-size-bytes': '8388608',
        'write.spark.fanout.enabled': 'true',
    } -%}
    {%- for name in config.get('tblproperties') or {} -%}
        {%- do properties.pop(name, none) -%}
    {%- endfor -%}
    {{ return(properties) }}
{% endmacro %}


{#
    The statement that brings new, ended and voided versions into `row_versions`.

    Arguments:
        relation: the table.
        folded: a `select` of versions, as `with_voided_versions` returns.
        fold: what `fold_state` returned.

    Returns:
        A `merge` statement.
#}
{% macro merge_folded(relation, folded, fold) -%}
    {%- set of_version = ['kafka_topic', 'table_uid', 'row_key', 'row_copy', 'from_sequence'] -%}
    {%- set of_end = ['to_sequence', 'is_open', 'valid_to', 'ended_by'] -%}
merge into {{ relation }} as versions
using (
    {{ folded }}
) as folded
on
    {%- for column in of_version %}
    versions.{{ column }} = folded.{{ column }} and
    {%- endfor %}
    {{ changefold.may_be_met(fold, 'versions') }}
when matched
    and folded.is_known
    and (
        versions.to_sequence is distinct from folded.to_sequence
        or versions.ended_by is distinct from folded.ended_by
    )
    then update set
    {%- for column in of_end %}
    versions.{{ column }} = folded.{{ column }},
    {%- endfor %}
    versions.ended_batch = {{ fold.number }}
when matched
    and not folded.is_known
    and (
        versions.to_sequence is distinct from folded.to_sequence
        or versions.row_hash <> folded.row_hash
        or versions.key_since <> folded.key_since
        or versions.unknown_columns is distinct from folded.unknown_columns
        or versions.ended_by is distinct from folded.ended_by
        or versions.disagreement is distinct from folded.disagreement
        or versions.op <> folded.op
    )
    then update set *
when not matched and not folded.is_known then insert *
{%- endmacro %}
