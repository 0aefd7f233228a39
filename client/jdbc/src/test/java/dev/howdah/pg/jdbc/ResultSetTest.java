package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.Row;
import dev.howdah.pg.types.Interval;
import dev.howdah.pg.types.Range;
import java.sql.Array;
import java.sql.Connection;
import java.sql.Date;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
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
import java.time.Period;
import java.time.ZonedDateTime;
import java.util.Calendar;
import java.util.GregorianCalendar;
import java.util.TimeZone;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ResultSetTest {
  private Connection connection;

  @BeforeEach
  void connect() throws SQLException {
    connection = Howdah.connect();
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
  }

  private ResultSet row(String sql) throws SQLException {
    ResultSet rows = connection.createStatement().executeQuery(sql);
    assertTrue(rows.next());
    return rows;
  }

  @Test
  void rowsAreReadForwards() throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("select * from generate_series(1, 3)")) {
      assertTrue(rows.isBeforeFirst());
      assertEquals("24000", Howdah.state(() -> rows.getInt(1)));
      assertTrue(rows.next());
      assertTrue(rows.isFirst());
      assertEquals(1, rows.getRow());
      assertTrue(rows.next() && rows.next());
      assertTrue(rows.isLast());
      assertFalse(rows.next());
      assertFalse(rows.next());
      assertTrue(rows.isAfterLast());
      assertEquals(0, rows.getRow());
      assertEquals("24000", Howdah.state(() -> rows.getInt(1)));
      assertEquals("24000", Howdah.state(rows::previous));
      assertEquals("24000", Howdah.state(() -> rows.updateInt(1, 1)));
      assertEquals("24000", Howdah.state(rows::insertRow));
    }
    try (Statement statement = connection.createStatement();
        ResultSet none = statement.executeQuery("select 1 where false")) {
      assertFalse(none.isBeforeFirst());
      assertFalse(none.next());
      assertFalse(none.isAfterLast());
    }
  }

  @Test
  void rowsAreReadInAnyOrder() throws SQLException {
    try (Statement statement =
            connection.createStatement(
                ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
        ResultSet rows = statement.executeQuery("select * from generate_series(1, 1000)")) {
      assertTrue(rows.last());
      assertEquals(1000, rows.getInt(1));
      assertTrue(rows.absolute(500));
      assertEquals(500, rows.getInt(1));
      assertTrue(rows.relative(-499));
      assertEquals(1, rows.getRow());
      assertFalse(rows.previous());
      assertTrue(rows.isBeforeFirst());
      assertTrue(rows.next());
      assertEquals(1, rows.getInt(1));
      assertTrue(rows.absolute(-2));
      assertEquals(999, rows.getInt(1));
      assertFalse(rows.absolute(1001));
      assertTrue(rows.isAfterLast());
      assertTrue(rows.previous());
      assertEquals(1000, rows.getInt(1));
      rows.beforeFirst();
      assertTrue(rows.isBeforeFirst());
      assertFalse(rows.absolute(-1001));
      assertTrue(rows.first());
      rows.afterLast();
      assertEquals(0, rows.getRow());
    }
  }

  @Test
  void aFetchSizeReadsSomeRowsAtATimeWhileOtherStatementsRun() throws SQLException {
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement();
        Statement other = connection.createStatement()) {
      statement.setFetchSize(10);
      ResultSet rows =
          statement.executeQuery("select x, pg_backend_pid() from generate_series(1, 35) x");
      long sum = 0;
      while (rows.next()) {
        sum += rows.getInt(1);
        assertEquals(sum, rows.getRow() * (rows.getRow() + 1) / 2);
        try (ResultSet inner = other.executeQuery("select " + sum)) {
          inner.next();
          assertEquals(sum, inner.getLong(1));
        }
        assertEquals(rows.getRow() == 35, rows.isLast());
      }
      assertEquals(630, sum);
      assertTrue(rows.isAfterLast());
    }
  }

  @Test
  void theServerComputesNoMoreThanIsFetched() throws SQLException {
    Howdah.execute(connection, "create temp sequence counted");
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.setFetchSize(10);
      ResultSet rows =
          statement.executeQuery("select nextval('counted') from generate_series(1, 100000)");
      assertTrue(rows.next());
      rows.close();
      assertEquals(10L, Howdah.value(connection, "select last_value from counted"));
      assertEquals(
          0L,
          Howdah.value(connection, "select count(*) from pg_cursors where name like 'howdah%'"));
      statement.setMaxRows(15);
      rows = statement.executeQuery("select x from generate_series(1, 100000) x");
      int count = 0;
      while (rows.next()) {
        count++;
      }
      assertEquals(15, count);
      assertFalse(rows.next());
      assertEquals(
          0L,
          Howdah.value(connection, "select count(*) from pg_cursors where name like 'howdah%'"));
    }
  }

  @Test
  void rowsOfAnEndedTransactionSayWhatBecameOfThem() throws SQLException {
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.setFetchSize(2);
      ResultSet rows = statement.executeQuery("select * from generate_series(1, 5)");
      assertTrue(rows.next() && rows.next());
      connection.commit();
      Howdah.execute(connection, "select 1");
      assertEquals("24000", Howdah.state(rows::next));
      assertEquals(1, Howdah.value(connection, "select 1"));
    }
    try (Statement held =
        connection.createStatement(
            ResultSet.TYPE_FORWARD_ONLY,
            ResultSet.CONCUR_READ_ONLY,
            ResultSet.HOLD_CURSORS_OVER_COMMIT)) {
      held.setFetchSize(2);
      ResultSet rows = held.executeQuery("select * from generate_series(1, 5)");
      connection.commit();
      int count = 0;
      while (rows.next()) {
        count++;
      }
      assertEquals(5, count);
    }
  }

  @Test
  void aLaterFetchIsCancelled() throws Exception {
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement();
        Connection watcher = Howdah.connect()) {
      statement.setFetchSize(1);
      ResultSet rows =
          statement.executeQuery(
              "select case when x = 2 then pg_sleep(30)::text end from generate_series(1, 5) x");
      assertTrue(rows.next());
      var ended =
          java.util.concurrent.CompletableFuture.supplyAsync(
              () -> org.junit.jupiter.api.Assertions.assertThrows(SQLException.class, rows::next));
      String asleep =
          "select count(*) from pg_stat_activity where pid = "
              + Howdah.core(connection).process()
              + " and wait_event = 'PgSleep'";
      while (!Long.valueOf(1).equals(Howdah.value(watcher, asleep))) {
        Thread.onSpinWait();
      }
      statement.cancel();
      assertEquals("57014", ended.get().getSQLState());
      connection.rollback();
    }
  }

  @Test
  void anErrorInALaterFetchIsTheServersOwn() throws SQLException {
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.setFetchSize(2);
      ResultSet rows = statement.executeQuery("select 1 / (4 - x) from generate_series(1, 5) x");
      assertTrue(rows.next() && rows.next());
      assertTrue(
          Howdah.state(
                  () -> {
                    while (rows.next()) {
                      rows.getInt(1);
                    }
                  })
              .equals("22012"));
      connection.rollback();
      assertEquals(1, Howdah.value(connection, "select 1"));
    }
  }

  @Test
  void millionsOfRowsPassThroughLittleMemory() throws SQLException {
    connection.setAutoCommit(false);
    Runtime runtime = Runtime.getRuntime();
    try (Statement statement = connection.createStatement()) {
      statement.setFetchSize(1000);
      ResultSet rows =
          statement.executeQuery("select x, repeat('x', 200) from generate_series(1, 1000000) x");
      System.gc();
      long start = runtime.totalMemory() - runtime.freeMemory();
      int count = 0;
      while (rows.next()) {
        if (++count % 250_000 == 0) {
          System.gc();
          assertTrue(runtime.totalMemory() - runtime.freeMemory() - start < 16 << 20);
        }
      }
      assertEquals(1_000_000, count);
    }
  }

  @Test
  void columnsAreFoundByLabel() throws SQLException {
    try (ResultSet rows = row("select 1 as a, 2 as \"A\", 3 as a, 4 as \"Mixed\"")) {
      assertEquals(1, rows.getInt("a"));
      assertEquals(2, rows.getInt("A"));
      assertEquals(4, rows.getInt("MIXED"));
      assertEquals("42703", Howdah.state(() -> rows.getInt("nope")));
      assertEquals("42703", Howdah.state(() -> rows.getInt(null)));
      assertEquals("07009", Howdah.state(() -> rows.getInt(0)));
      assertEquals("07009", Howdah.state(() -> rows.getInt(5)));
    }
  }

  @Test
  void nullIsNothingAndSaysSo() throws SQLException {
    try (ResultSet rows =
        row("select null::int, null::text, null::timestamptz, null::int[], null::bool, 1")) {
      assertEquals(0, rows.getInt(1));
      assertTrue(rows.wasNull());
      assertEquals(0, rows.getDouble(1));
      assertNull(rows.getBigDecimal(1));
      assertNull(rows.getString(2));
      assertNull(rows.getBytes(2));
      assertNull(rows.getTimestamp(3));
      assertNull(rows.getObject(3, OffsetDateTime.class));
      assertNull(rows.getArray(4));
      assertFalse(rows.getBoolean(5));
      assertNull(rows.getObject(1, Integer.class));
      assertTrue(rows.wasNull());
      assertEquals(1, rows.getInt(6));
      assertFalse(rows.wasNull());
    }
  }

  @Test
  void numbersAreConvertedAndRefusedWhenTheyDoNotFit() throws SQLException {
    try (ResultSet rows =
        row(
            "select 300, 1.9::numeric, 'NaN'::float8, '12'::text, 'x'::text, 3000000000,"
                + " '$1,234.50'::money, 1e30::numeric, true")) {
      assertEquals("22003", Howdah.state(() -> rows.getByte(1)));
      assertEquals(300, rows.getShort(1));
      assertTrue(Howdah.state(() -> rows.getBoolean(1)).startsWith("22"));
      assertEquals(1, rows.getInt(2));
      assertEquals("22003", Howdah.state(() -> rows.getInt(3)));
      assertEquals(12, rows.getInt(4));
      assertEquals("22018", Howdah.state(() -> rows.getInt(5)));
      assertEquals("22003", Howdah.state(() -> rows.getInt(6)));
      assertEquals(1234.5, rows.getDouble(7));
      assertEquals("22003", Howdah.state(() -> rows.getLong(8)));
      assertEquals(1, rows.getInt(9));
    }
  }

  @Test
  void datesAndTimesComeAsWhateverIsWanted() throws SQLException {
    Calendar tokyo = new GregorianCalendar(TimeZone.getTimeZone("Asia/Tokyo"));
    try (ResultSet rows =
        row(
            "select timestamptz '2024-07-01 20:00:00.123456Z', timestamp '2024-07-01"
                + " 20:00:00.123456', date '2024-07-01', time '20:00:00.5', timetz '20:00:00+02',"
                + " interval '1 year 2 days', interval '90 minutes', '2024-07-01 20:00:00'::text,"
                + " timestamptz 'infinity', date '0044-03-15 BC'")) {
      assertEquals(
          Timestamp.from(Instant.parse("2024-07-01T20:00:00.123456Z")), rows.getTimestamp(1));
      assertEquals(
          OffsetDateTime.parse("2024-07-01T20:00:00.123456Z"),
          rows.getObject(1, OffsetDateTime.class));
      assertEquals(Instant.parse("2024-07-01T20:00:00.123456Z"), rows.getObject(1, Instant.class));
      assertEquals(
          Instant.parse("2024-07-01T20:00:00.123456Z"),
          rows.getObject(1, ZonedDateTime.class).toInstant());
      assertEquals(
          Instant.parse("2024-07-01T15:00:00Z").toEpochMilli(), rows.getDate(1, tokyo).getTime());
      assertEquals(Timestamp.valueOf("2024-07-01 20:00:00.123456"), rows.getTimestamp(2));
      Timestamp inTokyo = rows.getTimestamp(2, tokyo);
      assertEquals(Instant.parse("2024-07-01T11:00:00.123456Z"), inTokyo.toInstant());
      assertEquals(
          LocalDateTime.parse("2024-07-01T20:00:00.123456"),
          rows.getObject(2, LocalDateTime.class));
      assertEquals(LocalDate.parse("2024-07-01"), rows.getObject(2, LocalDate.class));
      assertEquals(Date.valueOf("2024-07-01"), rows.getDate(3));
      assertEquals(LocalDate.parse("2024-07-01"), rows.getObject(3, LocalDate.class));
      assertEquals(Timestamp.valueOf("2024-07-01 00:00:00"), rows.getTimestamp(3));
      assertEquals(LocalTime.parse("20:00:00.5"), rows.getObject(4, LocalTime.class));
      assertEquals(Time.valueOf("20:00:00").getTime() + 500, rows.getTime(4).getTime());
      assertEquals(OffsetTime.parse("20:00:00+02:00"), rows.getObject(5, OffsetTime.class));
      assertEquals(18 * 3_600_000, rows.getTime(5).getTime());
      assertEquals(new Interval(12, 2, 0), rows.getObject(6));
      assertEquals(Period.of(1, 0, 2), rows.getObject(6, Period.class));
      assertEquals(Duration.ofMinutes(90), rows.getObject(7, Duration.class));
      assertEquals("22018", Howdah.state(() -> rows.getObject(6, Duration.class)));
      assertEquals(Timestamp.valueOf("2024-07-01 20:00:00"), rows.getTimestamp(8));
      assertEquals(9_223_372_036_825_200_000L, rows.getTimestamp(9).getTime());
      assertEquals(OffsetDateTime.MAX, rows.getObject(9, OffsetDateTime.class));
      assertEquals(LocalDate.of(-43, 3, 15), rows.getObject(10, LocalDate.class));
      assertEquals("22018", Howdah.state(() -> rows.getDate(4)));
      assertEquals("22018", Howdah.state(() -> rows.getTimestamp(6)));
    }
  }

  @Test
  void arraysAreRead() throws SQLException {
    try (ResultSet rows =
        row(
            "select array[1,2,null], '{{a,b},{c,d}}'::text[], array[timestamptz '2024-01-01Z'],"
                + " '{}'::int[], array[1.5::numeric]")) {
      Array array = rows.getArray(1);
      assertEquals("int4", array.getBaseTypeName());
      assertEquals(Types.INTEGER, array.getBaseType());
      assertArrayEquals(new Integer[] {1, 2, null}, (Integer[]) array.getArray());
      assertArrayEquals(new Integer[] {2, null}, (Object[]) array.getArray(2, 2));
      assertEquals("2202E", Howdah.state(() -> array.getArray(3, 2)));
      try (ResultSet elements = array.getResultSet()) {
        assertTrue(elements.next() && elements.next());
        assertEquals(2, elements.getInt("INDEX"));
        assertEquals(2, elements.getInt("VALUE"));
        assertTrue(elements.next());
        assertNull(elements.getObject(2));
        assertFalse(elements.next());
      }
      assertArrayEquals(
          new String[][] {{"a", "b"}, {"c", "d"}}, (String[][]) rows.getArray(2).getArray());
      assertEquals(
          Timestamp.from(Instant.parse("2024-01-01T00:00:00Z")),
          ((Timestamp[]) rows.getArray(3).getArray())[0]);
      assertEquals(0, ((Integer[]) rows.getArray(4).getArray()).length);
      assertArrayEquals(new Integer[] {1, 2, null}, rows.getObject(1, Integer[].class));
      assertArrayEquals(new int[0], rows.getObject(4, int[].class));
      assertEquals("22018", Howdah.state(() -> rows.getObject(1, int[].class)));
      assertEquals("{1,2,NULL}", rows.getObject(1).toString());
      try (PreparedStatement back = connection.prepareStatement("select ? = array[1,2,null]")) {
        back.setArray(1, array);
        ResultSet same = back.executeQuery();
        assertTrue(same.next() && same.getBoolean(1));
      }
      array.free();
      assertEquals("24000", Howdah.state(array::getArray));
    }
  }

  @Test
  void theClientsOwnClassesAreThere() throws SQLException {
    UUID uuid = UUID.randomUUID();
    try (ResultSet rows =
        row(
            "select '"
                + uuid
                + "'::uuid, int4range(1, 5), '{\"a\": 1}'::jsonb, '"
                + uuid
                + "'::text, 'x'::bytea, inet '10.0.0.1'")) {
      assertEquals(uuid, rows.getObject(1));
      assertEquals(uuid, rows.getObject(4, UUID.class));
      assertEquals(Range.of(1, 5), rows.getObject(2, Range.class));
      assertEquals("{\"a\": 1}", rows.getObject(3));
      assertArrayEquals(new byte[] {'x'}, rows.getBytes(5));
      assertEquals("10.0.0.1", rows.getObject(6, java.net.InetAddress.class).getHostAddress());
      assertEquals("22018", Howdah.state(() -> rows.getObject(1, Range.class)));
      assertTrue(rows.isWrapperFor(Row.class));
      Row row = rows.unwrap(Row.class);
      assertEquals(uuid, row.getUuid(0));
    }
  }

  private static String assertMessage(org.junit.jupiter.api.function.Executable action) {
    return org.junit.jupiter.api.Assertions.assertThrows(SQLException.class, action).getMessage();
  }

  @Test
  void columnsAreDescribed() throws SQLException {
    Howdah.execute(
        connection,
        "create temp table t (id int generated always as identity, name varchar(20) not null,"
            + " price numeric(8,2), tags text[], big bigserial)");
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "select id, name as label, price, tags, big, 1 + 1 as sum, price::money from t")) {
      ResultSetMetaData columns = rows.getMetaData();
      assertEquals(7, columns.getColumnCount());
      assertEquals("t", columns.getTableName(1));
      assertTrue(columns.getSchemaName(1).startsWith("pg_temp"));
      assertEquals("", columns.getTableName(6));
      assertEquals("label", columns.getColumnLabel(2));
      assertTrue(columns.isAutoIncrement(1) && columns.isAutoIncrement(5));
      assertFalse(columns.isAutoIncrement(2));
      assertEquals(ResultSetMetaData.columnNoNulls, columns.isNullable(2));
      assertEquals(ResultSetMetaData.columnNullable, columns.isNullable(3));
      assertEquals(ResultSetMetaData.columnNullableUnknown, columns.isNullable(6));
      assertEquals(20, columns.getPrecision(2));
      assertEquals(8, columns.getPrecision(3));
      assertEquals(2, columns.getScale(3));
      assertEquals(Types.ARRAY, columns.getColumnType(4));
      assertEquals("_text", columns.getColumnTypeName(4));
      assertEquals(Types.VARCHAR, columns.getColumnType(2));
      assertEquals("java.lang.Long", columns.getColumnClassName(5));
      assertTrue(columns.isCurrency(7));
      assertEquals("07009", Howdah.state(() -> columns.getColumnName(8)));
      long before = Howdah.core(connection).writes();
      columns.getTableName(3);
      assertEquals(before, Howdah.core(connection).writes(), "a table is looked up once");
    }
    Howdah.execute(connection, "alter table t rename to u");
    try (ResultSet rows = connection.createStatement().executeQuery("select id from u")) {
      assertEquals("u", rows.getMetaData().getTableName(1));
    }
  }
}
