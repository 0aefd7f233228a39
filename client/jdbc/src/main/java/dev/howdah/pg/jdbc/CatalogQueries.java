package dev.howdah.pg.jdbc;

import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The queries behind {@link DatabaseMetaData}: tables, columns, keys and indexes. A name that is
 * null restricts nothing.
 */
class CatalogQueries {
  /** Whether the database that is asked for is this one; no other can be seen. */
  private static final String CATALOG = "($1::text is null or $1 = '' or $1 = current_database())";

  private static final Pattern EXPRESSION =
      Pattern.compile("\\{(\\w+)(?::([^{};]*)(?:;([^{}]*))?)?\\}");

  private final JdbcConnection connection;

  CatalogQueries(JdbcConnection connection) {
    this.connection = connection;
  }

  final ResultSet query(String sql, Object... parameters) throws SQLException {
    return connection.catalogQuery(
        EXPRESSION.matcher(sql).replaceAll(found -> Matcher.quoteReplacement(expression(found))),
        parameters);
  }

  /** What the expressions in braces stand for. */
  private static String expression(MatchResult found) {
    return switch (found.group(1)) {
      case "catalog" -> CATALOG;
      case "table" -> TABLE_TYPE;
      case "rule" -> rule(found.group(2));
      case "number" -> TypeExpressions.number(found.group(2));
      case "size" -> TypeExpressions.size(found.group(2), found.group(3));
      default -> TypeExpressions.scale(found.group(2), found.group(3));
    };
  }

  ResultSet schemas(String catalog, String schema) throws SQLException {
    return query(
        """
        select nspname as "TABLE_SCHEM", current_database() as "TABLE_CATALOG" from pg_catalog.pg_namespace n
        where {catalog}
          and ($2::text is null or nspname like $2) and nspname not like 'pg\\_toast%'
          and (nspname not like 'pg\\_temp\\_%' or n.oid = pg_my_temp_schema())
        order by 1\
        """,
        catalog, schema);
  }

  ResultSet catalogs() throws SQLException {
    return query(
        "select datname as \"TABLE_CAT\" from pg_catalog.pg_database where datallowconn order by"
            + " 1");
  }

  private static final String TABLE_TYPE =
      """
      case when n.nspname in ('pg_catalog', 'information_schema') then
          case c.relkind when 'r' then 'SYSTEM TABLE' when 'v' then 'SYSTEM VIEW' when 'i' then 'SYSTEM INDEX' else 'SYSTEM TABLE' end
        when n.nspname = 'pg_toast' then case c.relkind when 'i' then 'SYSTEM TOAST INDEX' else 'SYSTEM TOAST TABLE' end
        when c.relpersistence = 't' then case c.relkind when 'r' then 'TEMPORARY TABLE' when 'p' then 'TEMPORARY TABLE'
          when 'v' then 'TEMPORARY VIEW' when 'S' then 'TEMPORARY SEQUENCE' else 'TEMPORARY INDEX' end
        else case c.relkind when 'r' then 'TABLE' when 'p' then 'PARTITIONED TABLE' when 'v' then 'VIEW'
          when 'm' then 'MATERIALIZED VIEW' when 'f' then 'FOREIGN TABLE' when 'S' then 'SEQUENCE' when 'c' then 'TYPE'
          when 'i' then 'INDEX' when 'I' then 'PARTITIONED INDEX' end end\
      """;

  ResultSet tableTypes() throws SQLException {
    return query(
        """
        select t as "TABLE_TYPE" from unnest(array['FOREIGN TABLE', 'INDEX', 'MATERIALIZED VIEW', 'PARTITIONED INDEX',
          'PARTITIONED TABLE', 'SEQUENCE', 'SYSTEM INDEX', 'SYSTEM TABLE', 'SYSTEM TOAST INDEX', 'SYSTEM TOAST TABLE',
          'SYSTEM VIEW', 'TABLE', 'TEMPORARY INDEX', 'TEMPORARY SEQUENCE', 'TEMPORARY TABLE', 'TEMPORARY VIEW', 'TYPE', 'VIEW']) t
        order by 1\
        """);
  }

  ResultSet tables(String catalog, String schema, String table, String[] types)
      throws SQLException {
    return query(
        """
        select * from (
          select current_database() as "TABLE_CAT", n.nspname as "TABLE_SCHEM", c.relname as "TABLE_NAME",
        {table} as "TABLE_TYPE",
            pg_catalog.obj_description(c.oid, 'pg_class') as "REMARKS", null::text as "TYPE_CAT", null::text as "TYPE_SCHEM",
            null::text as "TYPE_NAME", null::text as "SELF_REFERENCING_COL_NAME", null::text as "REF_GENERATION"
          from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where {catalog}
          and ($2::text is null or n.nspname like $2) and ($3::text is null or c.relname like $3)) t
        where $4::text[] is null or "TABLE_TYPE" = any($4)
        order by "TABLE_TYPE", "TABLE_SCHEM", "TABLE_NAME\"\
        """,
        catalog,
        schema,
        table,
        types == null ? null : Arrays.asList(types));
  }

  ResultSet columns(String catalog, String schema, String table, String column)
      throws SQLException {
    return query(
        """
        select current_database() as "TABLE_CAT", n.nspname as "TABLE_SCHEM", c.relname as "TABLE_NAME", a.attname as "COLUMN_NAME",
        {number:t} as "DATA_TYPE", t.typname as "TYPE_NAME",
        {size:i.type;i.modifier} as "COLUMN_SIZE", null::int4 as "BUFFER_LENGTH",
        {scale:i.type;i.modifier} as "DECIMAL_DIGITS", 10 as "NUM_PREC_RADIX",
          case when a.attnotnull or t.typnotnull then 0 else 1 end as "NULLABLE",
          pg_catalog.col_description(a.attrelid, a.attnum) as "REMARKS",
          case when a.attgenerated = '' then pg_catalog.pg_get_expr(d.adbin, d.adrelid) end as "COLUMN_DEF",
          null::int4 as "SQL_DATA_TYPE", null::int4 as "SQL_DATETIME_SUB",
        {size:t.oid;a.atttypmod} as "CHAR_OCTET_LENGTH",
          (row_number() over (partition by a.attrelid order by a.attnum))::int4 as "ORDINAL_POSITION",
          case when a.attnotnull or t.typnotnull then 'NO' else 'YES' end as "IS_NULLABLE",
          null::text as "SCOPE_CATALOG", null::text as "SCOPE_SCHEMA", null::text as "SCOPE_TABLE",
          case when t.typtype = 'd' then
        {number:b} end::int2 as "SOURCE_DATA_TYPE",
          case when a.attidentity <> '' or pg_catalog.pg_get_expr(d.adbin, d.adrelid) like 'nextval(%' then 'YES' else 'NO' end
            as "IS_AUTOINCREMENT",
          case when a.attgenerated <> '' then 'YES' else 'NO' end as "IS_GENERATEDCOLUMN"
        from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_type t on t.oid = a.atttypid
          left join pg_catalog.pg_type b on b.oid = t.typbasetype
          left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
          cross join lateral (select coalesce(nullif(t.typbasetype, 0), t.oid) as type,
            case when t.typtype = 'd' then t.typtypmod else a.atttypmod end as modifier) i
        where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v', 'm', 'f') and {catalog}
          and ($2::text is null or n.nspname like $2) and ($3::text is null or c.relname like $3)
          and ($4::text is null or a.attname like $4)
        order by "TABLE_SCHEM", "TABLE_NAME", "ORDINAL_POSITION\"\
        """,
        catalog, schema, table, column);
  }

  ResultSet primaryKeys(String catalog, String schema, String table) throws SQLException {
    return query(
        """
        select current_database() as "TABLE_CAT", n.nspname as "TABLE_SCHEM", c.relname as "TABLE_NAME", a.attname as "COLUMN_NAME",
          k.position::int2 as "KEY_SEQ", p.conname as "PK_NAME"
        from pg_catalog.pg_constraint p join pg_catalog.pg_class c on c.oid = p.conrelid
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          cross join unnest(p.conkey) with ordinality as k (number, position)
          join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
        where p.contype = 'p' and {catalog}
          and ($2::text is null or n.nspname = $2) and ($3::text is null or c.relname = $3)
        order by "TABLE_NAME", "PK_NAME", "KEY_SEQ\"\
        """,
        catalog,
        schema,
        table);
  }

  ResultSet bestRow(String catalog, String schema, String table, int scope) throws SQLException {
    return query(
        """
        select $4::int2 as "SCOPE", a.attname as "COLUMN_NAME",
        {number:t} as "DATA_TYPE", t.typname as "TYPE_NAME",
        {size:t.oid;a.atttypmod} as "COLUMN_SIZE", null::int4 as "BUFFER_LENGTH",
        {scale:t.oid;a.atttypmod}::int2 as "DECIMAL_DIGITS", 1::int2 as "PSEUDO_COLUMN"
        from pg_catalog.pg_constraint p join pg_catalog.pg_class c on c.oid = p.conrelid
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = any(p.conkey)
          join pg_catalog.pg_type t on t.oid = a.atttypid
        where p.contype = 'p' and {catalog}
          and ($2::text is null or n.nspname = $2) and ($3::text is null or c.relname = $3)
        order by array_position(p.conkey, a.attnum)\
        """,
        catalog,
        schema,
        table,
        scope);
  }

  /** The foreign keys between tables; a name that is null restricts nothing. */
  ResultSet foreignKeys(
      String parentSchema, String parentTable, String foreignSchema, String foreignTable)
      throws SQLException {
    return query(
        """
        select current_database() as "PKTABLE_CAT", pn.nspname as "PKTABLE_SCHEM", pc.relname as "PKTABLE_NAME", pa.attname as "PKCOLUMN_NAME",
          current_database() as "FKTABLE_CAT", fn.nspname as "FKTABLE_SCHEM", fc.relname as "FKTABLE_NAME", fa.attname as "FKCOLUMN_NAME",
          k.position::int2 as "KEY_SEQ",
        {rule:f.confupdtype} as "UPDATE_RULE", {rule:f.confdeltype} as "DELETE_RULE", f.conname as "FK_NAME", u.relname as "PK_NAME",
          case when not f.condeferrable then 7 when f.condeferred then 5 else 6 end::int2 as "DEFERRABILITY"
        from pg_catalog.pg_constraint f
          join pg_catalog.pg_class fc on fc.oid = f.conrelid join pg_catalog.pg_namespace fn on fn.oid = fc.relnamespace
          join pg_catalog.pg_class pc on pc.oid = f.confrelid join pg_catalog.pg_namespace pn on pn.oid = pc.relnamespace
          left join pg_catalog.pg_class u on u.oid = f.conindid
          cross join unnest(f.conkey, f.confkey) with ordinality as k (own, other, position)
          join pg_catalog.pg_attribute fa on fa.attrelid = f.conrelid and fa.attnum = k.own
          join pg_catalog.pg_attribute pa on pa.attrelid = f.confrelid and pa.attnum = k.other
        where f.contype = 'f' and f.conparentid = 0
          and ($1::text is null or pn.nspname = $1) and ($2::text is null or pc.relname = $2)
          and ($3::text is null or fn.nspname = $3) and ($4::text is null or fc.relname = $4)
        order by\
        """
            + (foreignTable == null ? " fn.nspname, fc.relname" : " pn.nspname, pc.relname")
            + ", f.conname, k.position",
        parentSchema,
        parentTable,
        foreignSchema,
        foreignTable);
  }

  private static String rule(String column) {
    return "case "
        + column
        + " when 'c' then "
        + DatabaseMetaData.importedKeyCascade
        + " when 'n' then "
        + DatabaseMetaData.importedKeySetNull
        + " when 'd' then "
        + DatabaseMetaData.importedKeySetDefault
        + " when 'r' then "
        + DatabaseMetaData.importedKeyRestrict
        + " else "
        + DatabaseMetaData.importedKeyNoAction
        + " end::int2";
  }

  ResultSet indexes(String catalog, String schema, String table, boolean unique)
      throws SQLException {
    return query(
        """
        select current_database() as "TABLE_CAT", n.nspname as "TABLE_SCHEM", c.relname as "TABLE_NAME",
          not i.indisunique as "NON_UNIQUE", null::text as "INDEX_QUALIFIER", x.relname as "INDEX_NAME",
          case when i.indisclustered then 1 when m.amname = 'hash' then 2 else 3 end::int2 as "TYPE",
          k.position::int2 as "ORDINAL_POSITION", trim(both '"' from pg_catalog.pg_get_indexdef(x.oid, k.position, false)) as "COLUMN_NAME",
          case when m.amname = 'btree' then case when i.indoption[k.position - 1] & 1 = 1 then 'D' else 'A' end end as "ASC_OR_DESC",
          greatest(x.reltuples, 0)::int8 as "CARDINALITY", x.relpages::int8 as "PAGES",
          pg_catalog.pg_get_expr(i.indpred, i.indrelid) as "FILTER_CONDITION"
        from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          join pg_catalog.pg_class x on x.oid = i.indexrelid join pg_catalog.pg_am m on m.oid = x.relam
          cross join generate_series(1, i.indnkeyatts::int4) as k (position)
        where {catalog}
          and ($2::text is null or n.nspname = $2) and ($3::text is null or c.relname = $3)
          and (i.indisunique or not $4::bool)
        order by "NON_UNIQUE", "TYPE", "INDEX_NAME", "ORDINAL_POSITION\"\
        """,
        catalog,
        schema,
        table,
        unique);
  }

  /** The columns that change whenever a row does: xmin. */
  ResultSet versionColumns(String table) throws SQLException {
    return query(
        """
        select null::int2 as "SCOPE", 'xmin' as "COLUMN_NAME", -5 as "DATA_TYPE", 'xid' as "TYPE_NAME", 10 as "COLUMN_SIZE",
          4 as "BUFFER_LENGTH", null::int2 as "DECIMAL_DIGITS", 2::int2 as "PSEUDO_COLUMN" where $1::text is not null\
        """,
        table);
  }

  ResultSet superTables(String catalog, String schema, String table) throws SQLException {
    return query(
        """
        select current_database() as "TABLE_CAT", n.nspname as "TABLE_SCHEM", c.relname as "TABLE_NAME", p.relname as "SUPERTABLE_NAME"
        from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid and c.relkind in ('r', 'p', 'f')
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_class p on p.oid = i.inhparent
        where {catalog}
          and ($2::text is null or n.nspname like $2) and ($3::text is null or c.relname like $3) order by 1, 2, 3\
        """,
        catalog,
        schema,
        table);
  }

  ResultSet tablePrivileges(String catalog, String schema, String table) throws SQLException {
    return query(
        """
        select table_catalog::text as "TABLE_CAT", table_schema::text as "TABLE_SCHEM", table_name::text as "TABLE_NAME",
          grantor::text as "GRANTOR", grantee::text as "GRANTEE", privilege_type::text as "PRIVILEGE", is_grantable::text as "IS_GRANTABLE"
        from information_schema.table_privileges where {catalog}
          and ($2::text is null or table_schema like $2) and ($3::text is null or table_name like $3) order by 1, 2, 3, 6\
        """,
        catalog,
        schema,
        table);
  }

  ResultSet columnPrivileges(String catalog, String schema, String table, String column)
      throws SQLException {
    return query(
        """
        select table_catalog::text as "TABLE_CAT", table_schema::text as "TABLE_SCHEM", table_name::text as "TABLE_NAME",
          column_name::text as "COLUMN_NAME", grantor::text as "GRANTOR", grantee::text as "GRANTEE",
          privilege_type::text as "PRIVILEGE", is_grantable::text as "IS_GRANTABLE"
        from information_schema.column_privileges where {catalog}
          and ($2::text is null or table_schema = $2) and ($3::text is null or table_name = $3)
          and ($4::text is null or column_name like $4) order by 4, 7\
        """,
        catalog,
        schema,
        table,
        column);
  }

  ResultSet clientInfo() throws SQLException {
    return query(
        """
        select 'ApplicationName' as "NAME", 63 as "MAX_LEN", '' as "DEFAULT_VALUE",
          'The name that pg_stat_activity shows.' as "DESCRIPTION\"\
        """);
  }

  /** None: every column that can be selected is in getColumns, the system's own excepted. */
  ResultSet pseudoColumns() throws SQLException {
    return query(
        """
        select null::text as "TABLE_CAT", null::text as "TABLE_SCHEM", null::text as "TABLE_NAME", null::text as "COLUMN_NAME",
          null::int4 as "DATA_TYPE", null::int4 as "COLUMN_SIZE", null::int4 as "DECIMAL_DIGITS", null::int4 as "NUM_PREC_RADIX",
          null::text as "COLUMN_USAGE", null::text as "REMARKS", null::int4 as "CHAR_OCTET_LENGTH", null::text as "IS_NULLABLE" where false\
        """);
  }
}
