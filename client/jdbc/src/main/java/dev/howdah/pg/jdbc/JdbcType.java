package dev.howdah.pg.jdbc;

import java.sql.Types;
import java.util.Map;

/**
 * What JDBC calls a type of the server.
 *
 * @param name the server's name for it
 * @param number its number in {@link Types}
 * @param kind how its values are converted
 * @param value the class of its values in getObject
 */
record JdbcType(String name, int number, Kind kind, Class<?> value) {
  /** The families of types whose values are converted alike. */
  enum Kind {
    BOOLEAN,
    WHOLE,
    FLOAT,
    NUMERIC,
    TEXT,
    BIT,
    BYTES,
    DATE,
    TIME,
    TIMETZ,
    TIMESTAMP,
    TIMESTAMPTZ,
    ARRAY,
    OTHER
  }

  private static final Map<String, JdbcType> KNOWN =
      Map.ofEntries(
          entry("bool", Types.BIT, Kind.BOOLEAN, Boolean.class),
          entry("int2", Types.SMALLINT, Kind.WHOLE, Integer.class),
          entry("int4", Types.INTEGER, Kind.WHOLE, Integer.class),
          entry("int8", Types.BIGINT, Kind.WHOLE, Long.class),
          entry("oid", Types.BIGINT, Kind.WHOLE, Long.class),
          entry("xid", Types.BIGINT, Kind.WHOLE, Long.class),
          entry("cid", Types.BIGINT, Kind.WHOLE, Long.class),
          entry("float4", Types.REAL, Kind.FLOAT, Float.class),
          entry("float8", Types.DOUBLE, Kind.FLOAT, Double.class),
          entry("numeric", Types.NUMERIC, Kind.NUMERIC, java.math.BigDecimal.class),
          entry("text", Types.VARCHAR, Kind.TEXT, String.class),
          entry("varchar", Types.VARCHAR, Kind.TEXT, String.class),
          entry("bpchar", Types.CHAR, Kind.TEXT, String.class),
          entry("char", Types.CHAR, Kind.TEXT, String.class),
          entry("name", Types.VARCHAR, Kind.TEXT, String.class),
          entry("citext", Types.VARCHAR, Kind.TEXT, String.class),
          entry("unknown", Types.VARCHAR, Kind.TEXT, String.class),
          entry("xml", Types.VARCHAR, Kind.TEXT, String.class),
          entry("json", Types.OTHER, Kind.TEXT, String.class),
          entry("jsonb", Types.OTHER, Kind.TEXT, String.class),
          entry("money", Types.OTHER, Kind.OTHER, String.class),
          entry("bit", Types.BIT, Kind.BIT, Boolean.class),
          entry("bytea", Types.BINARY, Kind.BYTES, byte[].class),
          entry("date", Types.DATE, Kind.DATE, java.sql.Date.class),
          entry("time", Types.TIME, Kind.TIME, java.sql.Time.class),
          entry("timetz", Types.TIME, Kind.TIMETZ, java.sql.Time.class),
          entry("timestamp", Types.TIMESTAMP, Kind.TIMESTAMP, java.sql.Timestamp.class),
          entry("timestamptz", Types.TIMESTAMP, Kind.TIMESTAMPTZ, java.sql.Timestamp.class),
          entry("uuid", Types.OTHER, Kind.OTHER, java.util.UUID.class),
          entry("interval", Types.OTHER, Kind.OTHER, dev.howdah.pg.types.Interval.class),
          entry("inet", Types.OTHER, Kind.OTHER, dev.howdah.pg.types.Inet.class),
          entry("cidr", Types.OTHER, Kind.OTHER, dev.howdah.pg.types.Inet.class),
          entry("hstore", Types.OTHER, Kind.OTHER, Map.class),
          entry("refcursor", Types.REF_CURSOR, Kind.TEXT, String.class));

  private static Map.Entry<String, JdbcType> entry(
      String name, int number, Kind kind, Class<?> value) {
    return Map.entry(name, new JdbcType(name, number, kind, value));
  }

  static java.util.Collection<JdbcType> known() {
    return KNOWN.values().stream().sorted(java.util.Comparator.comparing(JdbcType::name)).toList();
  }

  /** The type of a name; arrays have an underscore in front of their elements' name. */
  static JdbcType of(String name) {
    JdbcType known = KNOWN.get(name);
    if (known != null) {
      return known;
    }
    return name.startsWith("_")
        ? new JdbcType(name, Types.ARRAY, Kind.ARRAY, java.sql.Array.class)
        : new JdbcType(name, Types.OTHER, Kind.OTHER, Object.class);
  }

  /**
   * The type to declare for a null of one of JDBC's types; null leaves it to the server, which
   * infers it.
   */
  static String ofNull(int number) {
    return switch (number) {
      case Types.BIT, Types.BOOLEAN -> "bool";
      case Types.TINYINT, Types.SMALLINT -> "int2";
      case Types.INTEGER -> "int4";
      case Types.BIGINT -> "int8";
      case Types.REAL -> "float4";
      case Types.FLOAT, Types.DOUBLE -> "float8";
      case Types.NUMERIC, Types.DECIMAL -> "numeric";
      default -> null;
    };
  }

  /**
   * How many digits or characters a type or an array's element has, from its modifier; a numeric
   * without limit has 0.
   */
  int precision(int modifier) {
    if (kind == Kind.ARRAY) {
      return of(name.substring(1)).precision(modifier);
    }
    return switch (name) {
      case "int2" -> 5;
      case "int4", "oid", "xid", "cid" -> 10;
      case "int8" -> 19;
      case "float4" -> 8;
      case "float8" -> 17;
      case "bool" -> 1;
      case "numeric" -> modifier < 4 ? 0 : (modifier - 4) >> 16;
      case "varchar", "bpchar" -> modifier < 4 ? Integer.MAX_VALUE : modifier - 4;
      case "bit", "varbit" -> modifier < 0 ? Integer.MAX_VALUE : modifier;
      case "interval" -> 49;
      case "date" -> 13;
      case "time", "timetz", "timestamp", "timestamptz" -> displayed(modifier);
      default -> Integer.MAX_VALUE;
    };
  }

  /** How many characters a time has at most, with the digits of its fraction. */
  private int displayed(int modifier) {
    int digits = modifier < 0 ? 6 : modifier;
    int whole =
        switch (name) {
          case "time" -> 8;
          case "timetz" -> 14;
          case "timestamp" -> 22;
          default -> 28;
        };
    return digits == 0 ? whole : whole + 1 + digits;
  }

  /** How many digits stand behind the point. */
  int scale(int modifier) {
    return switch (kind) {
      case NUMERIC -> modifier < 4 ? 0 : ((modifier - 4 & 0x7ff) ^ 1024) - 1024;
      case FLOAT -> name.equals("float4") ? 8 : 17;
      case TIME, TIMETZ, TIMESTAMP, TIMESTAMPTZ -> modifier < 0 ? 6 : modifier;
      case ARRAY -> of(name.substring(1)).scale(modifier);
      default -> name.equals("interval") ? 6 : 0;
    };
  }

  boolean isSigned() {
    return kind == Kind.FLOAT
        || kind == Kind.NUMERIC
        || kind == Kind.WHOLE && name.startsWith("int");
  }
}
