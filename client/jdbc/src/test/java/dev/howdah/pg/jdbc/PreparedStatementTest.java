package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.types.Interval;
import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.Date;
import java.sql.JDBCType;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Calendar;
import java.util.GregorianCalendar;
import java.util.List;
import java.util.TimeZone;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class PreparedStatementTest {
  private Connection connection;

  @BeforeEach
  void connect() throws SQLException {
    connection = Howdah.connect();
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
  }

  /** Sets the first parameter. */
  private interface Setter {
    void set(PreparedStatement statement) throws SQLException;
  }

  private String text(String sql, Setter setter) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      setter.set(statement);
      try (ResultSet rows = statement.executeQuery()) {
        assertTrue(rows.next());
        return rows.getString(1);
      }
    }
  }

  private DynamicTest sent(String type, String expected, Setter setter) {
    return DynamicTest.dynamicTest(
        type + " " + expected,
        () -> {
          try (Connection own = Howdah.connect();
              Statement setup = own.createStatement()) {
            setup.execute("create temp table one (v " + type + ")");
            try (PreparedStatement insert = own.prepareStatement("insert into one values (?)")) {
              setter.set(insert);
              assertEquals(1, insert.executeUpdate());
            }
            // format() writes what the type's output function does.
            assertEquals(expected, Howdah.value(own, "select format('%s', v) from one"));
          }
        });
  }

  @TestFactory
  List<DynamicTest> valuesArriveInColumnsOfTheirTypeAndOfOthers() {
    UUID uuid = UUID.fromString("00112233-4455-6677-8899-aabbccddeeff");
    Calendar tokyo = new GregorianCalendar(TimeZone.getTimeZone("Asia/Tokyo"));
    Timestamp stamp = Timestamp.from(Instant.parse("2024-07-01T12:34:56.123456Z"));
    return List.of(
        sent("int", "5", s -> s.setInt(1, 5)),
        sent("int8", "5", s -> s.setInt(1, 5)),
        sent("int2", "5", s -> s.setLong(1, 5)),
        sent("numeric", "5", s -> s.setInt(1, 5)),
        sent("float8", "5", s -> s.setInt(1, 5)),
        sent("text", "5", s -> s.setInt(1, 5)),
        sent("int", "7", s -> s.setString(1, "7")),
        sent("uuid", uuid.toString(), s -> s.setString(1, uuid.toString())),
        sent("uuid", uuid.toString(), s -> s.setObject(1, uuid)),
        sent("jsonb", "{\"a\": 1}", s -> s.setString(1, "{\"a\":1}")),
        sent("jsonb", "{\"a\": 1}", s -> s.setObject(1, "{\"a\":1}", Types.OTHER)),
        sent("bool", "t", s -> s.setBoolean(1, true)),
        sent("bool", "f", s -> s.setObject(1, 0, Types.BOOLEAN)),
        sent("int2", "3", s -> s.setByte(1, (byte) 3)),
        sent("int2", "-3", s -> s.setShort(1, (short) -3)),
        sent("float4", "1.5", s -> s.setFloat(1, 1.5f)),
        sent("float8", "1.5", s -> s.setDouble(1, 1.5)),
        sent("numeric", "12.50", s -> s.setBigDecimal(1, new BigDecimal("12.50"))),
        sent("numeric", "18446744073709551616", s -> s.setObject(1, BigInteger.TWO.pow(64))),
        sent("numeric", "1.24", s -> s.setObject(1, "1.235", Types.NUMERIC, 2)),
        sent("numeric", "NaN", s -> s.setObject(1, Double.NaN)),
        sent("bytea", "\\x00ff", s -> s.setBytes(1, new byte[] {0, -1})),
        sent(
            "bytea",
            "\\x0102",
            s -> s.setBinaryStream(1, new ByteArrayInputStream(new byte[] {1, 2, 3}), 2)),
        sent("text", "äé", s -> s.setCharacterStream(1, new StringReader("äéx"), 2)),
        sent(
            "text",
            "ab",
            s ->
                s.setAsciiStream(
                    1, new ByteArrayInputStream("ab".getBytes(StandardCharsets.US_ASCII)))),
        sent("timestamptz", "2024-07-01 12:34:56.123456+00", s -> s.setTimestamp(1, stamp)),
        sent("timestamptz", "2024-07-01 12:34:56.123456+00", s -> s.setTimestamp(1, stamp, tokyo)),
        sent("timestamp", "2024-07-01 21:34:56.123456", s -> s.setTimestamp(1, stamp, tokyo)),
        sent(
            "timestamp",
            stamp.toLocalDateTime().toString().replace('T', ' '),
            s -> s.setTimestamp(1, stamp)),
        sent(
            "date",
            "2024-07-02",
            s ->
                s.setDate(
                    1, new Date(Instant.parse("2024-07-01T20:00:00Z").toEpochMilli()), tokyo)),
        sent("date", "2024-02-29", s -> s.setDate(1, Date.valueOf("2024-02-29"))),
        sent("date", "0044-03-15 BC", s -> s.setObject(1, LocalDate.of(-43, 3, 15))),
        sent("date", "infinity", s -> s.setObject(1, LocalDate.MAX)),
        sent("time", "13:14:15", s -> s.setTime(1, Time.valueOf("13:14:15"))),
        sent("time", "09:00:00.5", s -> s.setTime(1, new Time(500), tokyo)),
        sent("timetz", "09:00:00+09", s -> s.setTime(1, new Time(0), tokyo)),
        sent("timestamptz", "infinity", s -> s.setTimestamp(1, new Timestamp(Long.MAX_VALUE))),
        sent(
            "timestamptz",
            "2024-01-01 00:00:00+00",
            s -> s.setObject(1, OffsetDateTime.parse("2024-01-01T02:00:00+02:00"))),
        sent(
            "timestamptz",
            "2024-01-01 00:00:00+00",
            s -> s.setObject(1, Instant.parse("2024-01-01T00:00:00Z"))),
        sent(
            "timestamptz",
            "2024-01-01 00:00:00+00",
            s ->
                s.setObject(
                    1, ZonedDateTime.of(2024, 1, 1, 1, 0, 0, 0, ZoneId.of("Europe/Berlin")))),
        sent(
            "timestamp",
            "2024-01-01 01:02:03",
            s -> s.setObject(1, LocalDateTime.parse("2024-01-01T01:02:03"))),
        sent(
            "timestamptz",
            "2024-01-01 00:00:00+00",
            s -> s.setObject(1, LocalDate.parse("2024-01-01"))),
        sent("date", "2024-01-01", s -> s.setObject(1, LocalDateTime.parse("2024-01-01T01:02:03"))),
        sent(
            "timestamp",
            "2024-01-01 00:00:00",
            s -> s.setObject(1, Date.valueOf("2024-01-01"), Types.TIMESTAMP)),
        sent("date", "2024-01-01", s -> s.setObject(1, "2024-01-01", Types.DATE)),
        sent(
            "date",
            "2024-01-01",
            s -> s.setObject(1, Timestamp.valueOf("2024-01-01 10:00:00"), JDBCType.DATE)),
        sent("time", "01:02:03", s -> s.setObject(1, LocalTime.of(1, 2, 3))),
        sent(
            "timetz",
            "01:02:03+02",
            s -> s.setObject(1, OffsetTime.of(1, 2, 3, 0, ZoneOffset.ofHours(2)))),
        sent("interval", "01:30:00", s -> s.setObject(1, Duration.ofMinutes(90))),
        sent("interval", "1 mon 2 days", s -> s.setObject(1, new Interval(1, 2, 0))),
        sent("int[]", "{1,2}", s -> s.setObject(1, new int[] {1, 2})),
        sent(
            "text[]",
            "{a,NULL,\"b \\\"c\\\\\"}",
            s -> s.setObject(1, new String[] {"a", null, "b \"c\\"})),
        sent("uuid[]", "{" + uuid + "}", s -> s.setObject(1, new String[] {uuid.toString()})),
        sent(
            "int[]",
            "{{1,2},{3,4}}",
            s ->
                s.setArray(
                    1, s.getConnection().createArrayOf("int4", new Integer[][] {{1, 2}, {3, 4}}))),
        sent(
            "date[]",
            "{2024-01-01,infinity}",
            s ->
                s.setArray(
                    1,
                    s.getConnection()
                        .createArrayOf(
                            "date", new Object[] {LocalDate.of(2024, 1, 1), LocalDate.MAX}))),
        sent("bytea[]", "{\"\\\\x01\"}", s -> s.setObject(1, new byte[][] {{1}})),
        sent("int[]", "{1,2}", s -> s.setObject(1, List.of(1, 2))),
        sent("text", "DAYS", s -> s.setObject(1, java.util.concurrent.TimeUnit.DAYS)),
        sent("text", "x", s -> s.setObject(1, 'x')),
        sent("text", "2024-07-01 21:34:56.123456000+09:00", s -> s.setTimestamp(1, stamp, tokyo)),
        sent("int", "3", s -> s.setObject(1, 3.9, Types.INTEGER)),
        sent("int8", "1", s -> s.setObject(1, true, Types.BIGINT)),
        sent("varchar", "12", s -> s.setObject(1, 12, Types.VARCHAR)));
  }

  @Test
  void aTypeIsDeclaredWhereTheServerCannotTell() throws SQLException {
    assertEquals("6", text("select ? + 1", s -> s.setInt(1, 5)));
    assertEquals("[5]", text("select jsonb_build_array(?)", s -> s.setInt(1, 5)));
    assertEquals(
        "{\"a\": \"b\"}", text("select jsonb_build_object('a', ?)", s -> s.setString(1, "b")));
    assertEquals(
        "{\"a\": null}", text("select jsonb_build_object('a', ?)", s -> s.setNull(1, Types.NULL)));
    assertEquals("true", text("select ? is null", s -> s.setString(1, null)));
    assertEquals("false", text("select (? is  not\nnull) is null", s -> s.setString(1, "x")));
    assertEquals("ab", text("select concat(?, 'b')", s -> s.setString(1, "a")));
    assertEquals("2", text("select (?)[2]", s -> s.setObject(1, new int[] {1, 2})));
    assertEquals("2", text("select ?[2]", s -> s.setObject(1, new int[] {1, 2})));
    assertEquals(
        "3",
        text(
            "select x from generate_series(1, 9) x where x between 2 and ? offset 1 limit 1",
            s -> s.setInt(1, 5)));
    assertEquals(
        "2", text("select x from generate_series(1, 9) x offset ? limit 1", s -> s.setInt(1, 1)));
    assertEquals(
        "3",
        text(
            "select count(*) from generate_series(1, 9) x where x = any(?)",
            s -> s.setObject(1, new Integer[] {1, 2, 3})));
    assertEquals("2 days", text("select interval '1 day' * ?", s -> s.setInt(1, 2)));
    assertEquals("2024-01-03", text("select date '2024-01-01' + ?", s -> s.setInt(1, 2)));
    assertEquals("-5", text("select -?", s -> s.setInt(1, 5)));
    connection.setAutoCommit(false);
    assertEquals("b", text("select jsonb_build_object('b', ?)->>'b'", s -> s.setString(1, "b")));
    assertEquals(
        "42P18",
        Howdah.state(() -> text("select jsonb_build_object('c', ?)", s -> s.setString(1, "b"))),
        "a transaction failed with it");
    connection.rollback();
  }

  @Test
  void whatCannotBeSentSaysSo() throws SQLException {
    assertEquals("07001", Howdah.state(() -> text("select ?", s -> {})));
    assertEquals("07009", Howdah.state(() -> text("select ?", s -> s.setInt(2, 1))));
    assertEquals("07009", Howdah.state(() -> text("select ?", s -> s.setInt(0, 1))));
    assertEquals("22P02", Howdah.state(() -> text("select ?::int", s -> s.setString(1, "x"))));
    assertEquals(
        "22000", Howdah.state(() -> text("select ?", s -> s.setObject(1, "x", Types.INTEGER))));
    assertTrue(
        Howdah.state(() -> connection.createArrayOf("int4[]) ; drop table t; --", new Object[0]))
            .startsWith("42"));
    assertEquals("42704", Howdah.state(() -> connection.createArrayOf("nowhere", new Object[0])));
    assertEquals(
        "22000",
        Howdah.state(
            () ->
                text(
                    "select ?::bytea",
                    s -> s.setBinaryStream(1, new ByteArrayInputStream(new byte[1]), 2))));
    try (PreparedStatement statement = connection.prepareStatement("select 1")) {
      assertEquals("07000", Howdah.state(() -> statement.executeQuery("select 2")));
    }
  }

  @Test
  void aStatementIsOneWriteFromItsThirdRunOn() throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("select ?::int8 + ?")) {
      for (int i = 0; i < 5; i++) {
        long before = Howdah.core(connection).writes();
        statement.setLong(1, i);
        statement.setLong(2, 1);
        try (ResultSet rows = statement.executeQuery()) {
          rows.next();
          assertEquals(i + 1, rows.getLong(1));
        }
        assertTrue(i < 2 || Howdah.core(connection).writes() - before == 1);
      }
    }
  }

  @Test
  void aBatchIsFewRoundTrips() throws SQLException {
    Howdah.execute(
        connection, "create temp table t (a int, b text, id int generated always as identity)");
    try (PreparedStatement insert =
        connection.prepareStatement(
            "insert into t (a, b) values (?, ?)", Statement.RETURN_GENERATED_KEYS)) {
      for (int i = 0; i < 1200; i++) {
        insert.setInt(1, i);
        insert.setString(2, i % 3 == 0 ? null : "b" + i);
        insert.addBatch();
      }
      long before = Howdah.core(connection).writes();
      int[] counts = insert.executeBatch();
      assertTrue(
          Howdah.core(connection).writes() - before <= 8, "BEGIN, preparing, three chunks, COMMIT");
      assertEquals(1200, counts.length);
      assertEquals(1, counts[1199]);
      try (ResultSet keys = insert.getGeneratedKeys()) {
        int count = 0;
        while (keys.next()) {
          assertEquals(++count, keys.getInt("id"));
        }
        assertEquals(1200, count);
      }
      assertEquals(1200L, Howdah.value(connection, "select count(*) from t"));
      assertEquals(0, insert.executeBatch().length);
    }
  }

  @Test
  void aBatchWhoseBackendEndsIsAnErrorAndRollingBackDoesNotHang() throws SQLException {
    Howdah.execute(connection, "create temp table t (name text)");
    connection.setAutoCommit(false);
    try (PreparedStatement insert =
        connection.prepareStatement(
            "insert into t (name) select 'x' where ?::int <> 2 or"
                + " pg_terminate_backend(pg_backend_pid())")) {
      for (int i = 1; i <= 3; i++) {
        insert.setInt(1, i);
        insert.addBatch();
      }
      assertThrows(BatchUpdateException.class, insert::executeBatch);
    }
    assertTimeoutPreemptively(
        Duration.ofSeconds(20), () -> assertThrows(SQLException.class, connection::rollback));
    assertTrue(connection.isClosed());
  }

  @Test
  void aBatchThatFailsLeavesNothing() throws SQLException {
    Howdah.execute(connection, "create temp table t (a int primary key)");
    try (PreparedStatement insert = connection.prepareStatement("insert into t values (?)")) {
      for (int value : new int[] {1, 2, 2, 3}) {
        insert.setInt(1, value);
        insert.addBatch();
      }
      BatchUpdateException error = assertThrows(BatchUpdateException.class, insert::executeBatch);
      assertEquals("23505", error.getSQLState());
      assertTrue(error.getCause() instanceof java.sql.SQLIntegrityConstraintViolationException);
    }
    assertEquals(0L, Howdah.value(connection, "select count(*) from t"));
    try (PreparedStatement untyped =
        connection.prepareStatement("select jsonb_build_object('batch', ?)")) {
      for (String value : List.of("a", "b")) {
        untyped.setString(1, value);
        untyped.addBatch();
      }
      assertArrayEquals(new int[] {1, 1}, untyped.executeBatch());
    }
  }

  @Test
  void generatedKeysOfAPreparedStatement() throws SQLException {
    Howdah.execute(connection, "create temp table t (id serial, a int)");
    try (PreparedStatement insert =
        connection.prepareStatement("insert into t (a) values (?);", new String[] {"id"})) {
      insert.setInt(1, 5);
      assertEquals(1, insert.executeUpdate());
      ResultSet keys = insert.getGeneratedKeys();
      assertTrue(keys.next());
      assertEquals(1, keys.getInt("id"));
      insert.setInt(1, 6);
      assertFalse(insert.execute());
      assertEquals(1, insert.getUpdateCount());
      assertTrue(keys.isClosed());
    }
  }

  @Test
  void parametersAndColumnsAreDescribedBeforeAnythingRuns() throws SQLException {
    Howdah.execute(connection, "create temp table t (a int, b numeric(8,3), c text[])");
    try (PreparedStatement select =
        connection.prepareStatement("select c, b from t where a = ? and b > ?")) {
      ParameterMetaData parameters = select.getParameterMetaData();
      assertEquals(2, parameters.getParameterCount());
      assertEquals(Types.INTEGER, parameters.getParameterType(1));
      assertEquals("numeric", parameters.getParameterTypeName(2));
      assertEquals(BigDecimal.class.getName(), parameters.getParameterClassName(2));
      assertEquals(2, select.getMetaData().getColumnCount());
      assertEquals(8, select.getMetaData().getPrecision(2));
      assertEquals(3, select.getMetaData().getScale(2));
    }
    try (PreparedStatement insert = connection.prepareStatement("insert into t (a) values (?)")) {
      assertNull(insert.getMetaData());
      assertEquals(0L, Howdah.value(connection, "select count(*) from t"));
    }
  }

  @Test
  void aStatementWithoutParametersMayBeSeveral() throws SQLException {
    try (PreparedStatement both =
        connection.prepareStatement("create temp table t (a int); insert into t values (1), (2)")) {
      assertFalse(both.execute());
      assertEquals(0, both.getUpdateCount());
      assertFalse(both.getMoreResults());
      assertEquals(2, both.getUpdateCount());
    }
  }

  @Test
  void sixtyThousandParametersFit() throws SQLException {
    int count = 65_535;
    StringBuilder sql = new StringBuilder("select sum(v) from (values (?)");
    sql.append(",(?)".repeat(count - 1)).append(") t (v)");
    try (PreparedStatement statement = connection.prepareStatement(sql.toString())) {
      List<Integer> values = new ArrayList<>();
      for (int i = 1; i <= count; i++) {
        statement.setInt(i, i);
        values.add(i);
      }
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        assertEquals(values.stream().mapToLong(Integer::longValue).sum(), rows.getLong(1));
      }
    }
  }

  @Test
  void parametersStandWhereTheGrammarAllowsNoCast() throws SQLException {
    for (String sql :
        List.of(
            "select n from generate_series(1, 9) n order by n offset ? rows fetch first ? rows"
                + " only",
            "select n from generate_series(1, 9) n order by n offset ? fetch next ? rows only",
            "select n from generate_series(1, 9) n order by n offset ? limit ?")) {
      for (Object[] numbers : new Object[][] {{3, 2}, {3L, 2L}, {(short) 3, 2}}) {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
          statement.setObject(1, numbers[0]);
          statement.setObject(2, numbers[1]);
          try (ResultSet rows = statement.executeQuery()) {
            assertTrue(rows.next());
            assertEquals(4, rows.getInt(1), sql);
            assertTrue(rows.next());
            assertFalse(rows.next());
          }
        }
      }
    }
    try (PreparedStatement statement =
        connection.prepareStatement("select interval ? second, date ?")) {
      statement.setString(1, "1");
      assertThrows(SQLException.class, statement::executeQuery);
    }
    // The same text with other types is another statement; a batch has both.
    try (Statement statement = connection.createStatement()) {
      statement.execute("create temporary table typed (t text)");
    }
    try (PreparedStatement statement =
        connection.prepareStatement(
            "insert into typed select pg_typeof(?)::text || ' ' || pg_typeof(?)")) {
      for (Object value : List.of(1, 2L, 1.5, true, UUID.randomUUID(), new int[] {1})) {
        statement.setObject(1, value);
        statement.setObject(2, value);
        statement.addBatch();
      }
      statement.executeBatch();
    }
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("select string_agg(t, ', ') from typed")) {
      assertTrue(rows.next());
      assertEquals(
          "integer integer, bigint bigint, double precision double precision, boolean boolean, uuid"
              + " uuid, integer[] integer[]",
          rows.getString(1));
    }
  }

  @Test
  void whatIsOtherIsParsedAsTheServerWants() throws SQLException {
    Howdah.execute(
        connection,
        "create temp table flags (is_it boolean, twiddle bit, id uuid, day date, amount numeric)");
    UUID id = UUID.randomUUID();
    try (PreparedStatement insert =
        connection.prepareStatement("insert into flags values (?, ?, ?, ?, ?)")) {
      Object[] values = {true, 1, id, LocalDate.of(2024, 2, 29), 1.5};
      for (int i = 0; i < values.length; i++) {
        insert.setObject(i + 1, values[i], Types.OTHER);
      }
      assertEquals(1, insert.executeUpdate());
    }
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("select * from flags")) {
      rows.next();
      assertEquals(true, rows.getObject(1));
      assertEquals(true, rows.getObject("TWIDDLE"));
      assertEquals(Types.BIT, rows.getMetaData().getColumnType(2));
      assertEquals(id, rows.getObject(3));
      assertEquals("2024-02-29", rows.getString(4));
      assertEquals("1.5", rows.getString(5));
    }
  }

  @Test
  void aValueThatIsCastSaysWhatItIs() throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement("select ?::text, ?::date, ?::numeric")) {
      for (Object value :
          List.of(
              true,
              LocalDate.of(2024, 2, 29),
              LocalTime.of(12, 0),
              new byte[] {1},
              Duration.ofHours(1),
              1L,
              "x",
              UUID.randomUUID())) {
        statement.setObject(1, value);
        statement.setObject(2, LocalDateTime.of(2024, 2, 29, 12, 0));
        statement.setObject(3, 0.1234567890123456);
        try (ResultSet rows = statement.executeQuery()) {
          rows.next();
          assertEquals(
              value instanceof byte[]
                  ? "\\x01"
                  : value instanceof LocalTime
                      ? "12:00:00"
                      : value instanceof Duration ? "01:00:00" : value.toString(),
              rows.getString(1));
          assertEquals("2024-02-29", rows.getString(2));
          assertEquals("0.1234567890123456", rows.getString(3));
        }
      }
    }
  }
}
