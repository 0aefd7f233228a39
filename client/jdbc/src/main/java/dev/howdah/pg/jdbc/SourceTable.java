package dev.howdah.pg.jdbc;

import dev.howdah.pg.Column;
import dev.howdah.pg.Result;
import dev.howdah.pg.Row;
import dev.howdah.pg.Shape;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.stream.Collectors;

/**
 * The table that a result's rows come from, with the columns that tell them apart.
 *
 * <p>Every change returns the row as the server then has it, with what triggers and defaults have
 * made of it.
 */
final class SourceTable {
  private final JdbcConnection connection;
  private final JdbcStatement statement;
  private final String name;

  /** The name of each column of the result, quoted; null for an expression. */
  private final String[] columns;

  /** The type of each expression. */
  private final String[] types;

  /** The indexes of the columns that tell rows apart. */
  private final List<Integer> keys;

  private SourceTable(
      JdbcConnection connection,
      JdbcStatement statement,
      String name,
      String[] columns,
      String[] types,
      List<Integer> keys) {
    this.connection = connection;
    this.statement = statement;
    this.name = name;
    this.columns = columns;
    this.types = types;
    this.keys = keys;
  }

  private static SQLException notUpdatable() {
    return SqlErrors.error(
        "24000",
        "the result set cannot be updated: its columns must come from a single table, and all"
            + " columns of the primary key, or of another unique index without nulls, must be among"
            + " them");
  }

  static SourceTable of(JdbcConnection connection, JdbcStatement statement, Shape shape)
      throws SQLException {
    Set<Integer> tables =
        shape.columns().stream()
            .map(Column::table)
            .filter(table -> table != 0)
            .collect(Collectors.toSet());
    if (tables.size() != 1) {
      throw notUpdatable();
    }
    int number = tables.iterator().next();
    Catalog.Table table = connection.catalog().table(number);
    List<Integer> keys = keys(connection, number, shape);
    String[] columns = new String[shape.size()];
    String[] types = new String[shape.size()];
    for (int i = 0; i < columns.length; i++) {
      Column column = shape.columns().get(i);
      Catalog.Attribute attribute = table.attributes().get(column.attribute());
      if (attribute != null) {
        columns[i] = LeastConnection.quoted(attribute.name());
      } else {
        types[i] =
            connection
                .ask(
                    "select pg_catalog.format_type($1::oid, $2::int4)",
                    Integer.toUnsignedLong(column.type()),
                    column.modifier())
                .get(0)
                .getString(0);
      }
    }
    String name =
        LeastConnection.quoted(table.schema()) + "." + LeastConnection.quoted(table.name());
    return new SourceTable(connection, statement, name, columns, types, keys);
  }

  /** The primary key, or else another unique index, whose columns are all in the result. */
  private static List<Integer> keys(JdbcConnection connection, int table, Shape shape)
      throws SQLException {
    Result found =
        connection.ask(
            "select string_agg(k.number::text, ' ' order by k.place) from pg_catalog.pg_index i"
                + " cross join lateral unnest(i.indkey) with ordinality as k (number, place) join"
                + " pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number"
                + " where i.indrelid = $1::oid and i.indisunique and i.indimmediate and"
                + " i.indisvalid and i.indpred is null and i.indexprs is null and k.place <="
                + " i.indnkeyatts group by i.indexrelid, i.indisprimary having"
                + " bool_and(a.attnotnull) order by i.indisprimary desc, i.indexrelid",
            Integer.toUnsignedLong(table));
    List<Integer> attributes = shape.columns().stream().map(Column::attribute).toList();
    for (Row index : found) {
      List<Integer> keys =
          Arrays.stream(index.getString(0).split(" "))
              .map(key -> attributes.indexOf(Integer.valueOf(key)))
              .toList();
      if (!keys.contains(-1)) {
        return keys;
      }
    }
    throw notUpdatable();
  }

  void checkColumn(int column) throws SQLException {
    if (columns[column - 1] == null) {
      throw SqlErrors.error(
          "42703", "column " + column + " is an expression, which cannot be changed");
    }
  }

  Row insert(SortedMap<Integer, Parameter> values) throws SQLException {
    String names =
        values.keySet().stream()
            .map(column -> columns[column - 1])
            .collect(Collectors.joining(", "));
    String places = String.join(", ", Collections.nCopies(values.size(), "?"));
    List<Parameter> parameters = new ArrayList<>(values.values());
    String given =
        values.isEmpty() ? " default values" : " (" + names + ") values (" + places + ")";
    return one("insert into " + name + given + " returning " + shown(null, parameters), parameters);
  }

  Row update(Row row, Map<Integer, Parameter> values) throws SQLException {
    String assignments =
        values.keySet().stream()
            .map(column -> columns[column - 1] + " = ?")
            .collect(Collectors.joining(", "));
    List<Parameter> parameters = new ArrayList<>(values.values());
    String condition = condition(row, parameters);
    return one(
        "update "
            + name
            + " set "
            + assignments
            + condition
            + " returning "
            + shown(row, parameters),
        parameters);
  }

  /** Deletes a row; one that is gone already is no error. */
  void delete(Row row) throws SQLException {
    List<Parameter> parameters = new ArrayList<>();
    String condition = condition(row, parameters);
    run("delete from " + name + condition + " returning 1", parameters);
  }

  /** The row as it is now. */
  Row read(Row row) throws SQLException {
    List<Parameter> parameters = new ArrayList<>();
    String columns = shown(row, parameters);
    return one("select " + columns + " from " + name + condition(row, parameters), parameters);
  }

  /**
   * The columns of the result. Expressions keep the value they had, since the table does not know
   * them.
   */
  private String shown(Row row, List<Parameter> parameters) {
    List<String> shown = new ArrayList<>();
    for (int i = 0; i < columns.length; i++) {
      shown.add(columns[i] == null ? "cast(? as " + types[i] + ")" : columns[i]);
      if (columns[i] == null) {
        parameters.add(
            row == null || row.isNull(i)
                ? Parameter.NULL
                : new Parameter(row.getString(i), null, "text"));
      }
    }
    return String.join(", ", shown);
  }

  /** The keys are compared as text that the server reads by itself, so no type need be named. */
  private String condition(Row row, List<Parameter> parameters) {
    keys.forEach(key -> parameters.add(new Parameter(row.getString(key), null, "text")));
    return keys.stream()
        .map(key -> columns[key] + " = ?")
        .collect(Collectors.joining(" and ", " where ", ""));
  }

  private Row one(String sql, List<Parameter> parameters) throws SQLException {
    List<Row> rows = run(sql, parameters);
    if (rows.size() != 1) {
      throw SqlErrors.error(
          rows.isEmpty() ? "02000" : "21000",
          rows.isEmpty()
              ? "the row is not in the table any more"
              : rows.size() + " rows have the key of this one");
    }
    return rows.get(0);
  }

  private List<Row> run(String sql, List<Parameter> parameters) throws SQLException {
    try (JdbcPreparedStatement change =
        new JdbcPreparedStatement(
            connection, ResultSetKind.STANDARD, connection.parse(sql), null)) {
      change.setQueryTimeout(statement.getQueryTimeout());
      for (int i = 0; i < parameters.size(); i++) {
        change.set(i + 1, parameters.get(i));
      }
      List<Row> rows = new ArrayList<>();
      try (ResultSet result = change.executeQuery()) {
        while (result.next()) {
          rows.add(result.unwrap(Row.class).detach());
        }
      }
      return rows;
    }
  }
}
