{#
    The type of what `fold_table_schemas` returns, for `from_json`.

    Returns:
        A Spark type.
#}
{% macro table_version_type() -%}
    array<struct<
        table_uid: string,
        database: string,
        table: string,
        version: int,
        valid_from_sequence: string,
        valid_to_sequence: string,
        is_dropped: boolean,
        is_complete: boolean,
        columns: array<struct<
            column_id: int,
            name: string,
            type: string,
            nullable: boolean,
            original_default: string,
            original_default_accuracy: string,
            generated: string,
            is_in_rows: boolean,
            expression: string,
            comment: string,
            collation: string
        >>,
        key_columns: array<string>,
        key_kind: string,
        unique_columns: array<string>,
        ddl: string,
        row_effect: string,
        key_changed: boolean,
        partition_changes: array<struct<
            counterpart_uid: string,
            is_partitioned_side: boolean,
            columns: array<struct<
                name: string,
                sorted_as: string,
                default_value: string
            >>,
            partitions: array<struct<
                at_least: array<string>,
                less_than: array<string>,
                values_in: array<array<string>>
            >>
        >>,
        image_changes: array<struct<
            column_id: int,
            kind: string,
            from_name: string,
            to_name: string,
            from_type: string,
            to_type: string,
            changes_text: boolean,
            value_accuracy: string,
            to_charset: string
        >>,
        previous_database: string,
        previous_table: string,
        reason: string,
        unknown_columns: array<string>
    >>
{%- endmacro %}
