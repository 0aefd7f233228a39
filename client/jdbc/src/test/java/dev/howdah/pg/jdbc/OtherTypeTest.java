package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.howdah.pg.PrivateServer;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.JDBCType;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Values that are set with {@link Types#OTHER}: the server says of which type they are, as with
 * pgjdbc.
 */
class OtherTypeTest {
  private static final List<String> TYPES =
      List.of(
          "int2",
          "int4",
          "int8",
          "numeric",
          "float8",
          "bool",
          "text",
          "varchar(60)",
          "json",
          "jsonb",
          "uuid",
          "date",
          "time",
          "timetz",
          "timestamp",
          "timestamptz",
          "pg_temp.mood",
          "pg_temp.small",
          "int2[]",
          "money",
          "oid");

  private static final List<Object> VALUES =
      List.of(
          1L,
          40_000L,
          -7,
          (short) 1,
          (byte) 1,
          new BigDecimal("1.50"),
          BigInteger.TEN,
          1.5,
          2.25f,
          true,
          false,
          UUID.fromString("00112233-4455-6677-8899-aabbccddeeff"),
          LocalDate.of(2024, 2, 29),
          LocalTime.of(12, 34, 56),
          LocalDateTime.of(2024, 2, 29, 12, 34, 56, 789_000_000),
          OffsetDateTime.parse("2024-02-29T12:34:56+02:00"),
          OffsetTime.parse("12:34:56+02:00"),
          Instant.parse("2024-02-29T12:34:56Z"),
          Timestamp.valueOf("2024-02-29 12:34:56"),
          "happy",
          "1",
          'x');

  private static Connection ours;
  private static Connection theirs;

  @BeforeAll
  static void connect() throws SQLException {
    ours = Howdah.connect();
    theirs = DriverManager.getConnection(PrivateServer.shared().jdbcUrl());
    for (Connection each : List.of(ours, theirs)) {
      Howdah.execute(
          each,
          "set timezone to 'UTC'",
          "create type pg_temp.mood as enum ('happy', '1', 'true')",
          "create domain pg_temp.small as int2 check (value < 100)");
    }
  }

  @AfterAll
  static void close() throws SQLException {
    ours.close();
    theirs.close();
  }

  /**
   * What a column of a type holds after a value was put there, or the SQLSTATE of why it could not.
   */
  private static String stored(Connection connection, String type, Object value)
      throws SQLException {
    String table = "\"of " + type + '"';
    Howdah.execute(
        connection,
        "create temp table if not exists " + table + " (v " + type + ")",
        "truncate " + table);
    try (PreparedStatement insert =
        connection.prepareStatement("insert into " + table + " values (?)")) {
      insert.setObject(1, value, Types.OTHER);
      insert.executeUpdate();
    } catch (SQLException e) {
      return e.getSQLState();
    }
    return String.valueOf(Howdah.value(connection, "select format('%s', v) from " + table));
  }

  /** A Timestamp in a text has its offset, and that of a whole second no fraction. */
  private static boolean isWrittenOtherwise(String type, Object value) {
    return (type.equals("text") || type.startsWith("varchar")) && value instanceof Timestamp;
  }

  @TestFactory
  List<DynamicTest> theServerTakesAValueForWhatItExpects() {
    return TYPES.stream()
        .map(
            type ->
                DynamicTest.dynamicTest(
                    type,
                    () -> {
                      List<String> differences = new ArrayList<>();
                      for (Object value : VALUES) {
                        String mine = stored(ours, type, value);
                        String other = stored(theirs, type, value);
                        if (!mine.equals(other) && !isWrittenOtherwise(type, value)) {
                          differences.add(
                              "\n"
                                  + value.getClass().getSimpleName()
                                  + " "
                                  + value
                                  + ": "
                                  + mine
                                  + ", pgjdbc "
                                  + other);
                        }
                      }
                      assertEquals(List.of(), differences);
                    }))
        .toList();
  }

  private static Object sent(String sql, Object value) throws SQLException {
    try (PreparedStatement statement = ours.prepareStatement(sql)) {
      statement.setObject(1, value, JDBCType.OTHER);
      try (var rows = statement.executeQuery()) {
        rows.next();
        return rows.getObject(1);
      }
    }
  }

  @Test
  void whereTheServerCannotInferATypeTheValueSaysItsOwn() throws SQLException {
    assertEquals("{\"a\": 5}", sent("select jsonb_build_object('a', ?)", 5L));
    assertEquals("{\"a\": true}", sent("select jsonb_build_object('a', ?)", true));
    assertEquals(false, sent("select ? is null", 5L));
  }

  @Test
  void bytesArraysAndTheClientsClassesAreTaken() throws SQLException {
    assertEquals("\\x01ff", sent("select (?::bytea)::text", new byte[] {1, -1}));
    assertEquals("{1,2}", sent("select (?::int2[])::text", new int[] {1, 2}));
    assertEquals(
        "{1,2}", sent("select (?::int8[])::text", ours.createArrayOf("int4", new Object[] {1, 2})));
    assertEquals("infinity", sent("select (?::date)::text", LocalDate.MAX));
    assertEquals("-infinity", sent("select (?::timestamptz)::text", Instant.MIN));
    assertEquals("0044-03-15 BC", sent("select (?::date)::text", LocalDate.of(-43, 3, 15)));
    assertEquals(
        "2024-02-29 10:34:56+00",
        sent(
            "select (?::timestamptz)::text",
            java.time.ZonedDateTime.parse("2024-02-29T11:34:56+01:00[Europe/Paris]")));
  }
}
