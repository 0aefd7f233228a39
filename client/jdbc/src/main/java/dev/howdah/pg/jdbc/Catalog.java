package dev.howdah.pg.jdbc;

import dev.howdah.pg.Result;
import dev.howdah.pg.Row;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** What a connection has learned of tables and types; forgotten when definitions change. */
final class Catalog {
  /** How many tables are remembered before all are forgotten. */
  private static final int MOST = 1_000;

  /** A column of a table as its definition says. */
  record Attribute(String name, boolean notNull, boolean generated) {}

  /** A table and its columns by their numbers. */
  record Table(String schema, String name, Map<Integer, Attribute> attributes) {}

  private static final Table NONE = new Table("", "", Map.of());

  private final JdbcConnection connection;
  private final Map<Integer, Table> tables = new ConcurrentHashMap<>();
  private final Map<String, String> types = new ConcurrentHashMap<>();

  Catalog(JdbcConnection connection) {
    this.connection = connection;
  }

  /** Takes note of what a statement did. */
  void notice(String tag) {
    if (tag.startsWith("ALTER")
        || tag.startsWith("DROP")
        || tag.startsWith("CREATE")
        || tag.startsWith("ROLLBACK")) {
      forget();
    }
  }

  void forget() {
    tables.clear();
    types.clear();
  }

  /**
   * The table of a number; one without a name if the transaction has failed, when the server
   * answers nothing.
   */
  Table table(int number) throws SQLException {
    Table known = number == 0 ? NONE : tables.get(number);
    if (known != null) {
      return known;
    }
    if (connection.core.transactionFailed()) {
      return NONE;
    }
    if (tables.size() >= MOST) {
      tables.clear();
    }
    Table read = read(number);
    tables.put(number, read);
    return read;
  }

  private Table read(int number) throws SQLException {
    Result rows =
        connection.ask(
            "select n.nspname, c.relname, a.attnum::int4, a.attname, a.attnotnull, a.attidentity <>"
                + " '' or coalesce(pg_get_expr(d.adbin, d.adrelid) like 'nextval(%', false) from"
                + " pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
                + " join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 left join"
                + " pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum where"
                + " c.oid = $1::oid",
            Integer.toUnsignedLong(number));
    Map<Integer, Attribute> attributes = new HashMap<>();
    for (Row row : rows) {
      attributes.put(
          row.getInt(2), new Attribute(row.getString(3), row.getBoolean(4), row.getBoolean(5)));
    }
    return rows.isEmpty()
        ? NONE
        : new Table(rows.get(0).getString(0), rows.get(0).getString(1), attributes);
  }

  /**
   * A type's name as SQL has it. The server looks it up, so that nothing but a type's name comes
   * out.
   */
  String typeName(String name) throws SQLException {
    String known = types.get(name);
    if (known == null) {
      String found =
          connection
              .ask(
                  "select coalesce((select case when n.nspname = 'pg_catalog' then"
                      + " quote_ident(t.typname) else quote_ident(n.nspname) || '.' ||"
                      + " quote_ident(t.typname) end from pg_catalog.pg_type t join"
                      + " pg_catalog.pg_namespace n on n.oid = t.typnamespace where t.oid ="
                      + " to_regtype($1)), '')",
                  name)
              .get(0)
              .getString(0);
      if (found.isEmpty()) {
        throw SqlErrors.error("42704", "there is no type " + name);
      }
      types.put(name, found);
      known = found;
    }
    return known;
  }
}
