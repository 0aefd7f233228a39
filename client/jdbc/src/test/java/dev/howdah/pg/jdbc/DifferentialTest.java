package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.howdah.pg.PrivateServer;
import dev.howdah.pg.ServerBuild;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Calendar;
import java.util.GregorianCalendar;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TimeZone;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Every getter on many values of many types, beside pgjdbc. What both can read must be equal. What
 * only one reads, or reads otherwise on purpose, is listed here and in the module's README.
 */
class DifferentialTest {
  private static Connection ours;
  private static Connection theirs;

  private interface Getter {
    Object get(ResultSet rows) throws SQLException;
  }

  private static final Map<String, Getter> GETTERS = new LinkedHashMap<>();

  static {
    Calendar tokyo = new GregorianCalendar(TimeZone.getTimeZone("Asia/Tokyo"));
    GETTERS.put("getString", rows -> rows.getString(1));
    GETTERS.put("getBoolean", rows -> rows.getBoolean(1));
    GETTERS.put("getByte", rows -> rows.getByte(1));
    GETTERS.put("getShort", rows -> rows.getShort(1));
    GETTERS.put("getInt", rows -> rows.getInt(1));
    GETTERS.put("getLong", rows -> rows.getLong(1));
    GETTERS.put("getFloat", rows -> rows.getFloat(1));
    GETTERS.put("getDouble", rows -> rows.getDouble(1));
    GETTERS.put("getBigDecimal", rows -> rows.getBigDecimal(1));
    GETTERS.put("getBytes", rows -> rows.getBytes(1));
    GETTERS.put("getDate", rows -> rows.getDate(1));
    GETTERS.put("getTime", rows -> rows.getTime(1));
    GETTERS.put("getTimestamp", rows -> rows.getTimestamp(1));
    GETTERS.put("getDate(calendar)", rows -> rows.getDate(1, tokyo));
    GETTERS.put("getTime(calendar)", rows -> rows.getTime(1, tokyo));
    GETTERS.put("getTimestamp(calendar)", rows -> rows.getTimestamp(1, tokyo));
    GETTERS.put("getObject", rows -> rows.getObject(1));
    GETTERS.put("getArray", rows -> rows.getArray(1) == null ? null : rows.getArray(1).getArray());
    for (Class<?> type :
        List.of(
            String.class,
            Boolean.class,
            Short.class,
            Integer.class,
            Long.class,
            Float.class,
            Double.class,
            BigDecimal.class,
            BigInteger.class,
            Date.class,
            Time.class,
            Timestamp.class,
            LocalDate.class,
            LocalTime.class,
            LocalDateTime.class,
            OffsetDateTime.class,
            UUID.class,
            byte[].class)) {
      GETTERS.put("getObject(" + type.getSimpleName() + ")", rows -> rows.getObject(1, type));
    }
    GETTERS.put("getColumnType", rows -> rows.getMetaData().getColumnType(1));
    GETTERS.put("getColumnTypeName", rows -> rows.getMetaData().getColumnTypeName(1));
    GETTERS.put("getPrecision", rows -> rows.getMetaData().getPrecision(1));
    GETTERS.put("getScale", rows -> rows.getMetaData().getScale(1));
  }

  /** Types and the values of theirs that are compared. */
  private static final Map<String, List<String>> VALUES = new LinkedHashMap<>();

  static {
    VALUES.put("int2", List.of("0", "1", "-32768", "32767"));
    VALUES.put("int4", List.of("0", "1", "-1", "300", "2147483647", "-2147483648"));
    VALUES.put("int8", List.of("0", "1", "9223372036854775807", "-9223372036854775808"));
    VALUES.put("oid", List.of("0", "1", "4294967295"));
    VALUES.put("float4", List.of("0", "1", "1.5", "-0.1", "3.4e38", "NaN", "Infinity"));
    VALUES.put(
        "float8", List.of("0", "1", "1.5", "-2.9", "1e300", "123456789.123", "NaN", "-Infinity"));
    VALUES.put(
        "numeric",
        List.of(
            "0",
            "1",
            "1.50",
            "-2.9",
            "123456789012345678901234567890.123",
            "1e20",
            "0.000001",
            "NaN"));
    VALUES.put("numeric(8,2)", List.of("1.5"));
    VALUES.put("bool", List.of("true", "false"));
    VALUES.put(
        "text",
        List.of(
            "",
            "1",
            "0",
            "t",
            "false",
            "yes",
            "12.7",
            " 5 ",
            "x",
            "2024-02-29",
            "2024-02-29 12:34:56.789",
            "12:34:56",
            "ä€😀"));
    VALUES.put("varchar(20)", List.of("1", "abc"));
    VALUES.put("bpchar", List.of("1", "abc  "));
    VALUES.put("char(5)", List.of("ab"));
    VALUES.put("name", List.of("abc"));
    VALUES.put("bytea", List.of("\\x", "\\x00ff41"));
    VALUES.put("uuid", List.of("00112233-4455-6677-8899-aabbccddeeff"));
    VALUES.put(
        "date",
        List.of("2024-02-29", "1970-01-01", "1999-12-31", "1900-01-01", "infinity", "9999-12-31"));
    VALUES.put("time", List.of("00:00:00", "12:34:56.789", "23:59:59"));
    VALUES.put("timetz", List.of("12:34:56+02", "00:00:00Z"));
    VALUES.put(
        "timestamp",
        List.of(
            "2024-02-29 12:34:56.789123",
            "1970-01-01 00:00:00",
            "1950-06-15 01:02:03",
            "infinity"));
    VALUES.put("timestamp(3)", List.of("2024-02-29 12:34:56.789123"));
    VALUES.put(
        "timestamptz",
        List.of(
            "2024-02-29 12:34:56.789123+02",
            "1970-01-01 00:00:00Z",
            "2024-07-01 23:30:00Z",
            "-infinity"));
    VALUES.put("json", List.of("{\"a\":1}", "1"));
    VALUES.put("jsonb", List.of("{\"a\": 1}", "\"x\""));
    VALUES.put("int4[]", List.of("{}", "{1,2,NULL}", "{{1,2},{3,4}}"));
    VALUES.put("text[]", List.of("{a,NULL,\"b c\"}"));
    VALUES.put("money", List.of("1.25", "-1234.5"));
    VALUES.put("inet", List.of("10.0.0.1", "10.0.0.0/8"));
    VALUES.put("interval", List.of("1 day 02:03:04"));
    VALUES.put("xml", List.of("<a/>"));
    VALUES.put("bit(3)", List.of("101"));
    VALUES.put("bit", List.of("0", "1"));
    VALUES.put("regclass", List.of("pg_class"));
  }

  @BeforeAll
  static void connect() throws SQLException {
    ours = Howdah.connect();
    theirs = DriverManager.getConnection(PrivateServer.shared().jdbcUrl());
    // pgjdbc sets the session's time zone to the JVM's; here the server's own stays.
    Howdah.execute(theirs, "set timezone to 'UTC'");
    try (var connection = PrivateServer.connect()) {
      if (!ServerBuild.readsXml(connection, "values of type xml in both drivers")) {
        VALUES.remove("xml");
      }
    }
  }

  @AfterAll
  static void close() throws SQLException {
    ours.close();
    theirs.close();
  }

  @TestFactory
  List<DynamicTest> bothDriversReadTheSame() {
    List<DynamicTest> tests = new ArrayList<>();
    VALUES.forEach(
        (type, values) ->
            tests.add(
                DynamicTest.dynamicTest(
                    type,
                    () -> {
                      List<String> differences = new ArrayList<>();
                      List<String> all = new ArrayList<>(values);
                      all.add(null);
                      for (String value : all) {
                        for (Map.Entry<String, Getter> getter : GETTERS.entrySet()) {
                          compare(type, value, getter.getKey(), getter.getValue(), differences);
                        }
                      }
                      assertEquals(List.of(), differences);
                    })));
    return tests;
  }

  private static final String REFUSED = "refused";

  private static void compare(
      String type, String value, String name, Getter getter, List<String> differences) {
    String sql = "select " + (value == null ? "null" : "'" + value + "'") + "::" + type;
    String mine = shown(ours, sql, getter);
    String other = shown(theirs, sql, getter);
    if (!mine.equals(other) && !Differences.isDeliberate(type, value, name, mine, other)) {
      differences.add("\n" + name + " of " + sql + ": " + mine + ", pgjdbc " + other);
    }
  }

  private static String shown(Connection connection, String sql, Getter getter) {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      rows.next();
      Object value = getter.get(rows);
      String text =
          value instanceof Object[] array
              ? Arrays.deepToString(array)
              : value instanceof byte[] bytes
                  ? Arrays.toString(bytes)
                  : value instanceof Timestamp || value instanceof Date || value instanceof Time
                      ? value.getClass().getSimpleName() + ((java.util.Date) value).getTime()
                      : value instanceof BigDecimal number
                          ? number.toPlainString()
                          : String.valueOf(value);
      return text + (value == null ? "" : " " + value.getClass().getSimpleName());
    } catch (SQLException | RuntimeException e) {
      return REFUSED;
    }
  }

  /** The differences that are meant. */
  private static final class Differences {
    private Differences() {}

    static boolean isDeliberate(
        String type, String value, String getter, String mine, String other) {
      return switch (getter) {
        case "getString", "getBytes" -> type.equals("bool");
        // The double that the server's float4 is, not the one that is written with the same digits.
        case "getDouble" -> type.equals("float4") || readsMore(type, other);
        case "getByte" -> value.isEmpty() || readsMore(type, other);
        case "getShort", "getInt", "getLong", "getFloat", "getBigDecimal" -> readsMore(type, other);
        // A date has no time of day; the time of day of a moment is on 1970-01-01 of the calendar
        // or the JVM.
        case "getTime", "getTime(calendar)" ->
            type.equals("timestamptz") || mine.equals(REFUSED) && isDate(type, value);
        case "getObject" -> OWN_CLASSES.contains(type) || type.endsWith("[]");
        case "getArray" -> type.equals("name");
        // Without a time zone, or a date, it is no moment.
        case "getObject(OffsetDateTime)" ->
            mine.equals(REFUSED) && (type.equals("timetz") || type.startsWith("timestamp"));
        case "getColumnType" -> Set.of("money", "xml").contains(type);
        case "getPrecision" -> type.equals("name");
        // Whatever can be converted is, to every class that is asked for.
        default -> getter.startsWith("getObject(") && other.equals(REFUSED);
      };
    }

    private static final Set<String> OWN_CLASSES =
        Set.of("json", "jsonb", "money", "inet", "interval", "xml", "bit(3)", "regclass");

    /** Booleans are read as numbers too, and money below zero. */
    private static boolean readsMore(String type, String other) {
      return other.equals(REFUSED) && (type.equals("bool") || type.equals("money"));
    }

    private static boolean isDate(String type, String value) {
      return type.equals("date") || value.matches("....-..-..");
    }
  }
}
