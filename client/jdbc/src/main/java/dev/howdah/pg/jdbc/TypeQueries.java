package dev.howdah.pg.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;

/** The queries behind DatabaseMetaData that are about types, functions and procedures. */
final class TypeQueries extends CatalogQueries {
  TypeQueries(JdbcConnection connection) {
    super(connection);
  }

  ResultSet types() throws SQLException {
    return query(
        """
        select t.typname as "TYPE_NAME",
        {number:t} as "DATA_TYPE",
        {size:t.oid;-1} as "PRECISION", '''' as "LITERAL_PREFIX", '''' as "LITERAL_SUFFIX", null::text as "CREATE_PARAMS",
          1::int2 as "NULLABLE", t.typname in ('text', 'varchar', 'bpchar', 'char', 'name') as "CASE_SENSITIVE", 3::int2 as "SEARCHABLE",
          t.typname in ('oid', 'xid', 'cid') as "UNSIGNED_ATTRIBUTE", t.typname = 'money' as "FIXED_PREC_SCALE",
          false as "AUTO_INCREMENT", t.typname as "LOCAL_TYPE_NAME", 0::int2 as "MINIMUM_SCALE",
          case when t.typname = 'numeric' then 1000 else 0 end::int2 as "MAXIMUM_SCALE", null::int4 as "SQL_DATA_TYPE",
          null::int4 as "SQL_DATETIME_SUB", 10 as "NUM_PREC_RADIX"
        from pg_catalog.pg_type t left join pg_catalog.pg_class c on c.oid = t.typrelid
        where t.typtype <> 'p' and (c.relkind is null or c.relkind = 'c') and t.typname not like '\\_%'
        order by "DATA_TYPE", "TYPE_NAME\"\
        """);
  }

  /** Whether all that a name means here are procedures. */
  boolean isProcedure(String name) throws SQLException {
    try (ResultSet found =
        query(
            """
            select coalesce(pg_catalog.bool_and(p.prokind = 'p'), false)
            from pg_catalog.parse_ident($1) i, pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
            where p.proname = i[pg_catalog.cardinality(i)] and case pg_catalog.cardinality(i) when 1 then pg_catalog.pg_function_is_visible(p.oid)
              else case i[1] when 'pg_temp' then n.oid = pg_catalog.pg_my_temp_schema() else n.nspname = i[1] end end\
            """,
            name)) {
      return found.next() && found.getBoolean(1);
    }
  }

  ResultSet userTypes(String catalog, String schema, String type, int[] numbers)
      throws SQLException {
    List<Integer> wanted = numbers == null ? null : Arrays.stream(numbers).boxed().toList();
    return query(
        """
        select * from (select current_database() as "TYPE_CAT", n.nspname as "TYPE_SCHEM", t.typname as "TYPE_NAME", null::text as "CLASS_NAME",
            case t.typtype when 'c' then 2002 when 'd' then 2001 end as "DATA_TYPE",
            pg_catalog.obj_description(t.oid, 'pg_type') as "REMARKS",
            case when t.typtype = 'd' then
        {number:b} end::int2 as "BASE_TYPE"
          from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = t.typnamespace
            left join pg_catalog.pg_type b on b.oid = t.typbasetype left join pg_catalog.pg_class c on c.oid = t.typrelid
          where (t.typtype = 'd' or t.typtype = 'c' and c.relkind = 'c') and {catalog}
          and ($2::text is null or n.nspname like $2) and ($3::text is null or t.typname like $3)) u
        where $4::int4[] is null or "DATA_TYPE" = any($4) order by "DATA_TYPE", "TYPE_SCHEM", "TYPE_NAME\"\
        """,
        catalog,
        schema,
        type,
        wanted);
  }

  ResultSet attributes(String catalog, String schema, String type, String attribute)
      throws SQLException {
    return query(
        """
        select current_database() as "TYPE_CAT", n.nspname as "TYPE_SCHEM", c.relname as "TYPE_NAME", a.attname as "ATTR_NAME",
        {number:t} as "DATA_TYPE", t.typname as "ATTR_TYPE_NAME",
        {size:t.oid;a.atttypmod} as "ATTR_SIZE",
        {scale:t.oid;a.atttypmod} as "DECIMAL_DIGITS", 10 as "NUM_PREC_RADIX", 1 as "NULLABLE", null::text as "REMARKS", null::text as "ATTR_DEF",
          null::int4 as "SQL_DATA_TYPE", null::int4 as "SQL_DATETIME_SUB", null::int4 as "CHAR_OCTET_LENGTH",
          a.attnum::int4 as "ORDINAL_POSITION", 'YES' as "IS_NULLABLE", null::text as "SCOPE_CATALOG", null::text as "SCOPE_SCHEMA",
          null::text as "SCOPE_TABLE", null::int2 as "SOURCE_DATA_TYPE"
        from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid and c.relkind = 'c'
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_type t on t.oid = a.atttypid
        where a.attnum > 0 and not a.attisdropped and {catalog}
          and ($2::text is null or n.nspname like $2) and ($3::text is null or c.relname like $3)
          and ($4::text is null or a.attname like $4) order by 2, 3, "ORDINAL_POSITION\"\
        """,
        catalog,
        schema,
        type,
        attribute);
  }

  ResultSet superTypes() throws SQLException {
    return query(
        """
        select null::text as "TYPE_CAT", null::text as "TYPE_SCHEM", null::text as "TYPE_NAME", null::text as "SUPERTYPE_CAT",
          null::text as "SUPERTYPE_SCHEM", null::text as "SUPERTYPE_NAME" where false\
        """);
  }

  ResultSet functions(String catalog, String schema, String function) throws SQLException {
    return query(
        """
        select current_database() as "FUNCTION_CAT", n.nspname as "FUNCTION_SCHEM", p.proname as "FUNCTION_NAME",
          pg_catalog.obj_description(p.oid, 'pg_proc') as "REMARKS",
          case when p.proretset then 2 else 1 end::int2 as "FUNCTION_TYPE", p.proname || '_' || p.oid as "SPECIFIC_NAME"
        from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
        where p.prokind <> 'p' and {catalog}
          and ($2::text is null or n.nspname like $2) and ($3::text is null or p.proname like $3)
        order by 2, 3, 6\
        """,
        catalog,
        schema,
        function);
  }

  ResultSet procedures(String catalog, String schema, String procedure) throws SQLException {
    return query(
        """
        select current_database() as "PROCEDURE_CAT", n.nspname as "PROCEDURE_SCHEM", p.proname as "PROCEDURE_NAME",
          null::text as "RESERVED1", null::text as "RESERVED2", null::text as "RESERVED3",
          pg_catalog.obj_description(p.oid, 'pg_proc') as "REMARKS", 1::int2 as "PROCEDURE_TYPE",
          p.proname || '_' || p.oid as "SPECIFIC_NAME"
        from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
        where p.prokind = 'p' and {catalog}
          and ($2::text is null or n.nspname like $2) and ($3::text is null or p.proname like $3)
        order by 2, 3, 9\
        """,
        catalog,
        schema,
        procedure);
  }

  ResultSet functionColumns(String catalog, String schema, String function, String column)
      throws SQLException {
    return query(arguments("FUNCTION", false), catalog, schema, function, column);
  }

  ResultSet procedureColumns(String catalog, String schema, String procedure, String column)
      throws SQLException {
    return query(arguments("PROCEDURE", true), catalog, schema, procedure, column);
  }

  /** The arguments of functions or procedures, and what functions return at position 0. */
  private static String arguments(String what, boolean procedures) {
    String kind =
        procedures
            ? "case x.mode when 'i' then 1 when 'b' then 2 when 'o' then 4 when 'r' then 5 else 3"
                + " end"
            : "case x.mode when 'i' then 1 when 'b' then 2 when 'o' then 3 when 'r' then 4 else 5"
                + " end";
    String more =
        procedures
            ? "null::text as \"COLUMN_DEF\", null::int4 as \"SQL_DATA_TYPE\", null::int4 as"
                + " \"SQL_DATETIME_SUB\","
            : "";
    return """
    select current_database() as "@_CAT", n.nspname as "@_SCHEM", p.proname as "@_NAME", coalesce(x.name, '') as "COLUMN_NAME",
      (@kind)::int2 as "COLUMN_TYPE", {number:t} as "DATA_TYPE", t.typname as "TYPE_NAME", null::int4 as "PRECISION",
      null::int4 as "LENGTH", null::int2 as "SCALE", 10::int2 as "RADIX", 2::int2 as "NULLABLE", null::text as "REMARKS", @more
      null::int4 as "CHAR_OCTET_LENGTH", x.position as "ORDINAL_POSITION", 'YES' as "IS_NULLABLE",
      p.proname || '_' || p.oid as "SPECIFIC_NAME"
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
      cross join lateral (
        select 0 as position, 'r' as mode, 'returnValue' as name, p.prorettype as type where p.prokind <> 'p'
        union all
        select o.position::int4, coalesce(p.proargmodes[o.position], 'i')::text, p.proargnames[o.position], o.type
        from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality as o (type, position)) x
      join pg_catalog.pg_type t on t.oid = x.type
    where (p.prokind = 'p') = @procedures and {catalog} and ($2::text is null or n.nspname like $2)
      and ($3::text is null or p.proname like $3) and ($4::text is null or coalesce(x.name, '') like $4)
    order by n.nspname, p.proname, p.oid, x.position\
    """
        .replace("@kind", kind)
        .replace("@more", more)
        .replace("@procedures", Boolean.toString(procedures))
        .replace("@", what);
  }
}
