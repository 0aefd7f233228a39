package dev.howdah.pg.jdbc;

import dev.howdah.pg.Row;
import dev.howdah.pg.types.PgArray;
import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Date;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** An array: one that was read, or one that createArrayOf made, to be sent. */
final class JdbcArray implements Array {
  private static final Map<String, Class<?>> ELEMENTS =
      Map.ofEntries(
          Map.entry("int2", Integer.class),
          Map.entry("int4", Integer.class),
          Map.entry("int8", Long.class),
          Map.entry("oid", Long.class),
          Map.entry("float4", Float.class),
          Map.entry("float8", Double.class),
          Map.entry("bool", Boolean.class),
          Map.entry("numeric", BigDecimal.class),
          Map.entry("uuid", UUID.class),
          Map.entry("bytea", byte[].class),
          Map.entry("date", Date.class),
          Map.entry("time", Time.class),
          Map.entry("timetz", Time.class),
          Map.entry("timestamp", Timestamp.class),
          Map.entry("timestamptz", Timestamp.class),
          Map.entry("text", String.class),
          Map.entry("varchar", String.class),
          Map.entry("bpchar", String.class),
          Map.entry("name", String.class),
          Map.entry("json", String.class),
          Map.entry("jsonb", String.class));

  private final JdbcConnection connection;
  private final String element;

  /** What is sent: the server's text, or a {@link Moment}. */
  private final Object literal;

  private List<?> values;

  /** An array of elements, which may be arrays themselves. */
  JdbcArray(JdbcConnection connection, String element, List<?> values, Object literal) {
    this.connection = connection;
    this.element = element;
    this.values = values;
    this.literal = literal;
  }

  static JdbcArray read(Row row, int column, JdbcConnection connection) throws SQLException {
    if (!(row.getObject(column) instanceof PgArray array)) {
      throw Cells.cannot(row, column, "an array");
    }
    return new JdbcArray(
        connection,
        row.columns().get(column).codec().name().substring(1),
        array,
        row.getString(column));
  }

  /** What is sent for it as a parameter. */
  Object sent() {
    return literal;
  }

  private List<?> values() throws SQLException {
    if (values == null) {
      throw SqlErrors.error("24000", "the array was freed");
    }
    return values;
  }

  @Override
  public String getBaseTypeName() {
    return element;
  }

  @Override
  public int getBaseType() {
    return JdbcType.of(element).number();
  }

  @Override
  public Object getArray() throws SQLException {
    List<?> all = values();
    return SqlErrors.translated(
        () -> {
          Class<?> type =
              ELEMENTS.getOrDefault(
                  element,
                  all.stream().allMatch(String.class::isInstance) ? String.class : Object.class);
          return toJava(all, type, depth(all));
        });
  }

  private static int depth(List<?> list) {
    return list instanceof PgArray array ? Math.max(1, array.lengths().length) : 1;
  }

  private static Object toJava(List<?> list, Class<?> type, int depth) throws SQLException {
    Class<?> component = type;
    for (int i = 1; i < depth; i++) {
      component = component.arrayType();
    }
    Object array = java.lang.reflect.Array.newInstance(component, list.size());
    for (int i = 0; i < list.size(); i++) {
      Object value = list.get(i);
      Object converted = depth > 1 ? toJava((List<?>) value, type, depth - 1) : element(value);
      if (converted != null && !component.isInstance(converted)) {
        throw SqlErrors.error(
            "22018",
            "the element "
                + converted
                + " is not of "
                + component.getName()
                + "; read the array as a List");
      }
      java.lang.reflect.Array.set(array, i, converted);
    }
    return array;
  }

  private static Object element(Object value) {
    if (value instanceof LocalDate date) {
      return Temporals.date(date, null);
    } else if (value instanceof LocalDateTime local) {
      return Temporals.timestamp(local, null);
    } else if (value instanceof OffsetDateTime moment) {
      return Temporals.timestamp(moment);
    } else if (value instanceof LocalTime time) {
      return Temporals.time(time, null);
    }
    return value instanceof OffsetTime time ? Temporals.time(time) : value;
  }

  /** The array as a Java array of the given class, which may be one of primitives. */
  Object as(Class<?> wanted) throws SQLException {
    List<?> all = values();
    Object array = java.lang.reflect.Array.newInstance(wanted.getComponentType(), all.size());
    try {
      for (int i = 0; i < all.size(); i++) {
        java.lang.reflect.Array.set(array, i, element(all.get(i)));
      }
      return array;
    } catch (IllegalArgumentException | NullPointerException e) {
      throw SqlErrors.of(
          "an array of " + element + " cannot be read as " + wanted.getSimpleName(), "22018", e);
    }
  }

  @Override
  public Object getArray(long index, int count) throws SQLException {
    Object[] all = (Object[]) getArray();
    if (index < 1 || count < 0 || index - 1 + count > all.length) {
      throw SqlErrors.error(
          "2202E", count + " elements from " + index + " on, where the array has " + all.length);
    }
    return Arrays.copyOfRange(all, (int) index - 1, (int) index - 1 + count);
  }

  @Override
  public Object getArray(Map<String, Class<?>> types) throws SQLException {
    noTypes(types);
    return getArray();
  }

  @Override
  public Object getArray(long index, int count, Map<String, Class<?>> types) throws SQLException {
    noTypes(types);
    return getArray(index, count);
  }

  static void noTypes(Map<String, Class<?>> types) throws SQLException {
    if (types != null && !types.isEmpty()) {
      throw SqlErrors.unsupported(
          "a map of types", "register a codec with the client's TypeOptions");
    }
  }

  @Override
  public ResultSet getResultSet() throws SQLException {
    return getResultSet(1, values().size());
  }

  @Override
  public ResultSet getResultSet(long index, int count) throws SQLException {
    values();
    String sql =
        "select i as \"INDEX\", v as \"VALUE\" from unnest($1::"
            + connection.typeName(element)
            + "[]) with ordinality as t (v, i)"
            + " where i between $2::int8 and $3::int8 order by i";
    return connection.catalogQuery(sql, literal, index, index + count - 1);
  }

  @Override
  public ResultSet getResultSet(Map<String, Class<?>> types) throws SQLException {
    noTypes(types);
    return getResultSet();
  }

  @Override
  public ResultSet getResultSet(long index, int count, Map<String, Class<?>> types)
      throws SQLException {
    noTypes(types);
    return getResultSet(index, count);
  }

  @Override
  public void free() {
    values = null;
  }

  /** The server's text of the array. */
  @Override
  public String toString() {
    return literal.toString();
  }
}
