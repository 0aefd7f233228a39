package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.types.Codec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ConnectionTest {
  private Connection connection;

  @BeforeEach
  void connect() {
    connection = PrivateServer.connect();
  }

  @AfterEach
  void close() {
    connection.close();
  }

  @Test
  void aQueryReturnsItsRows() {
    Result rows =
        connection.query(
            "select x as id, x::text || 'a' as name, null as nothing from generate_series(1,"
                + " $1::int) x",
            3);
    assertEquals(3, rows.size());
    assertEquals(2, rows.get(1).getLong("id"));
    assertEquals("3a", rows.get(2).getString(1));
    assertTrue(rows.get(0).isNull("nothing"));
    assertEquals("SELECT 3", rows.tag());
  }

  @Test
  void aCachedStatementIsOneWrite() {
    String sql = "select $1::int + 1";
    connection.query(sql, 1);
    connection.query(sql, 1);
    long before = connection.writes();
    assertEquals(3, connection.query(sql, 2).get(0).getInt(0));
    assertEquals(before + 1, connection.writes());
  }

  @Test
  void valuesThatAreTheSameBytesInBothFormatsAreAskedForAsText() {
    Result rows =
        connection.query(
            "select 'a'::text, 1, '{}'::json, '{}'::jsonb, 'b'::varchar, 'c'::name, true");
    Statement statement =
        new Statement("select", "s1", new int[0], new Codec[0], rows.shape(), List.of());
    assertArrayEquals(new short[] {0, 1, 0, 1, 0, 0, 1}, statement.resultFormats);
  }

  @Test
  void aCachedStatementSurvivesDefinitionsThatChangeElsewhere() {
    connection.script(
        "drop table if exists altered; create table altered (a int); insert into altered values"
            + " (1)");
    assertEquals(1, connection.query("select * from altered").columns().size());
    try (Connection other = PrivateServer.connect()) {
      other.script("alter table altered add b text default 'x'");
    }
    Result rows = connection.query("select * from altered");
    assertEquals(2, rows.columns().size());
    assertEquals("x", rows.get(0).getString("b"));
    connection.script("alter table altered add c int");
    connection.transaction(
        inside -> {
          assertEquals(3, inside.query("select * from altered").columns().size());
          inside.script("alter table altered add d int");
          assertEquals(4, inside.query("select * from altered").columns().size());
          return null;
        });
  }

  @Test
  void anErrorNamesStatePositionAndLine() {
    ServerException error =
        assertThrows(
            ServerException.class, () -> connection.query("select 1,\n  nonsense\nfrom pg_class"));
    assertEquals("42703", error.sqlState());
    assertEquals(13, error.server().position());
    assertTrue(error.getMessage().contains("SQLSTATE 42703"), error.getMessage());
    assertTrue(
        error.getMessage().contains("at character 13, line 2:   nonsense"), error.getMessage());
    assertNotNull(error.server().routine());
    assertEquals(1, connection.query("select 1").size());
  }

  @Test
  void aStatementThatEndsTooEarlyIsShownToo() {
    ServerException error =
        assertThrows(ServerException.class, () -> connection.query("select 1 +\n  (2"));
    assertEquals("42601", error.sqlState());
    assertTrue(error.getMessage().endsWith("at character 16, line 2:   (2"), error.getMessage());
    ServerException empty = assertThrows(ServerException.class, () -> connection.query("select ("));
    assertTrue(empty.getMessage().endsWith("at character 9, line 1: select ("), empty.getMessage());
  }

  @Test
  void aStatementThatCountsRowsWithoutReturningThemHasNone() {
    Result made = connection.query("create temp table made as select * from generate_series(1, 3)");
    assertEquals("SELECT 3", made.tag());
    assertEquals(3, made.count());
    assertFalse(made.hasRows());
    assertFalse(connection.script("select * into temp made2 from made").get(0).hasRows());
    assertEquals(2, connection.execute("create temp table made3 as select from made limit 2"));
    Result none = connection.query("select from made");
    assertTrue(none.hasRows());
    assertEquals(3, none.size());
    assertTrue(connection.script("select from made").get(0).hasRows());
    assertTrue(connection.query("select 1 where false").hasRows());
    assertFalse(connection.query("").hasRows());
  }

  @Test
  void anErrorCarriesEveryField() {
    connection.script(
        "drop table if exists checked; create table checked (a int constraint positive check (a >"
            + " 0))");
    ServerException error =
        assertThrows(
            ServerException.class, () -> connection.query("insert into checked values ($1)", -1));
    assertEquals("23514", error.sqlState());
    assertEquals("public", error.server().schema());
    assertEquals("checked", error.server().table());
    assertEquals("positive", error.server().constraint());
    assertNotNull(error.server().detail());
    assertNotNull(error.server().file());
    assertNotNull(error.server().line());
    ServerException inside =
        assertThrows(
            ServerException.class, () -> connection.script("do $$ begin perform 1/0; end $$"));
    assertNotNull(inside.server().where());
    ServerMessage raised =
        assertThrows(
                ServerException.class,
                () ->
                    connection.script(
                        "do $$ begin raise exception 'the message' using errcode = 'P0042', detail"
                            + " = 'the detail', hint = 'the hint', schema = 's', table = 't',"
                            + " column = 'c', datatype = 'd', constraint = 'k'; end $$"))
            .server();
    assertEquals(
        List.of("ERROR", "P0042", "the message", "the detail", "the hint", "s", "t", "c", "d", "k"),
        List.of(
            raised.severity(),
            raised.sqlState(),
            raised.message(),
            raised.detail(),
            raised.hint(),
            raised.schema(),
            raised.table(),
            raised.column(),
            raised.dataType(),
            raised.constraint()));
    ServerMessage within =
        assertThrows(
                ServerException.class,
                () -> connection.script("do $$ begin execute 'select nonsense'; end $$"))
            .server();
    assertEquals("select nonsense", within.internalQuery());
    assertEquals(8, within.internalPosition());
  }

  @Test
  void aWrongParameterLeavesTheConnectionInOrder() {
    PgException error =
        assertThrows(PgException.class, () -> connection.query("select $1::int", Duration.ZERO));
    assertTrue(error.getMessage().startsWith("parameter $1"), error.getMessage());
    assertThrows(PgException.class, () -> connection.query("select $1::int"));
    assertThrows(PgException.class, () -> connection.query("select $1::int2", 70_000));
    assertEquals(5, connection.query("select $1::int", 5).get(0).getInt(0));
    assertEquals(5, connection.query("select $1::int", "5").get(0).getInt(0));
  }

  @Test
  void asManyParametersAsTheProtocolAllows() {
    StringBuilder sql = new StringBuilder("select ");
    Object[] values = new Object[65_535];
    sql.append("cardinality(array[");
    for (int i = 1; i <= values.length; i++) {
      sql.append(i > 1 ? "," : "").append('$').append(i).append("::int");
      values[i - 1] = i;
    }
    assertEquals(65_535, connection.query(sql.append("])").toString(), values).get(0).getInt(0));
  }

  @Test
  void asManyColumnsAsATableMayHave() {
    StringBuilder sql = new StringBuilder("select ");
    for (int i = 0; i < 1600; i++) {
      sql.append(i > 0 ? "," : "").append(i).append(" as c").append(i);
    }
    Row row = connection.query(sql.toString()).get(0);
    assertEquals(1599, row.getInt("c1599"));
    assertEquals(700, row.getInt(700));
  }

  @Test
  void aVeryLargeCell() {
    Row row = connection.query("select repeat('x', 200000000) as large, 7 as after").get(0);
    assertEquals(7, row.getInt(1));
    assertEquals(200_000_000, row.getBytes(0).length);
  }

  @Test
  void aVeryLargeParameterDoesNotDeadlock() {
    byte[] large = new byte[30_000_000];
    Arrays.fill(large, (byte) 3);
    assertEquals(30_000_000, connection.query("select length($1::bytea)", large).get(0).getInt(0));
  }

  @Test
  void transactionsCommitAndRollBack() {
    connection.script("drop table if exists moved; create table moved (a int)");
    connection.transaction(inside -> inside.execute("insert into moved values (1)"));
    assertThrows(
        IllegalStateException.class,
        () ->
            connection.transaction(
                inside -> {
                  inside.execute("insert into moved values (2)");
                  throw new IllegalStateException("no");
                }));
    connection.transaction(
        outer -> {
          outer.execute("insert into moved values (3)");
          assertThrows(
              PgException.class, () -> outer.transaction(inner -> inner.query("select nonsense")));
          return outer.execute("insert into moved values (4)");
        });
    assertEquals(8, connection.query("select sum(a) from moved").get(0).getLong(0));
    assertFalse(connection.inTransaction());
    PgException readOnly =
        assertThrows(
            PgException.class,
            () ->
                connection.transaction(
                    TransactionOptions.DEFAULT
                        .readOnly(true)
                        .isolation(TransactionOptions.Isolation.SERIALIZABLE),
                    inside -> inside.execute("insert into moved values (5)")));
    assertEquals("25006", readOnly.sqlState());
  }

  @Test
  void aTransactionIsOfTheKindThatWasAskedFor() {
    String kind =
        "select current_setting('transaction_isolation') as isolation,"
            + " current_setting('transaction_read_only') as read_only,"
            + " current_setting('transaction_deferrable') as deferrable";
    for (TransactionOptions.Isolation isolation : TransactionOptions.Isolation.values()) {
      for (boolean chosen : List.of(true, false)) {
        TransactionOptions options =
            TransactionOptions.DEFAULT.isolation(isolation).readOnly(chosen).deferrable(chosen);
        Map<String, Object> wanted =
            Map.of(
                "isolation",
                isolation.name().toLowerCase().replace('_', ' '),
                "read_only",
                chosen ? "on" : "off",
                "deferrable",
                chosen ? "on" : "off");
        assertEquals(wanted, connection.transaction(options, inside -> inside.first(kind).toMap()));
        connection.begin(options);
        assertEquals(wanted, connection.first(kind).toMap());
        connection.rollback();
      }
    }
  }

  @Test
  void aFailedTransactionDoesNotPassForCommitted() {
    PgException error =
        assertThrows(
            PgException.class,
            () ->
                connection.transaction(
                    inside -> {
                      assertThrows(PgException.class, () -> inside.query("select nonsense"));
                      return null;
                    }));
    assertEquals("25P02", error.sqlState());
  }

  @Test
  void aFailedInnerTransactionIsRolledBackAlone() {
    connection.script("drop table if exists partly; create table partly (a int)");
    connection.transaction(
        outer -> {
          outer.execute("insert into partly values (1)");
          PgException error =
              assertThrows(
                  PgException.class,
                  () ->
                      outer.transaction(
                          inner -> {
                            inner.execute("insert into partly values (2)");
                            return assertThrows(
                                PgException.class, () -> inner.query("select nonsense"));
                          }));
          assertEquals("25P02", error.sqlState());
          return outer.execute("insert into partly values (4)");
        });
    assertEquals(5, connection.query("select sum(a) from partly").get(0).getLong(0));
  }

  @Test
  void aTimeoutNamesItsLimitAndLeavesTheConnectionUsable() {
    PgTimeoutException error =
        assertThrows(
            PgTimeoutException.class,
            () ->
                connection.query(
                    Options.DEFAULT.timeout(Duration.ofMillis(100)), "select pg_sleep(30)"));
    assertTrue(error.getMessage().contains("100 ms"), error.getMessage());
    assertEquals(1, connection.query("select 1").size());
  }

  /**
   * The user's own work between two fetches is not the server's to answer for, so each fetch has
   * the limit.
   */
  @Test
  void theLimitOfACursorIsThatOfEachFetch() {
    Options limited = Options.DEFAULT.timeout(Duration.ofSeconds(2)).fetchSize(1);
    String slowly = "select pg_sleep(0.05) from generate_series(1, 45)";
    assertEquals(45, connection.<Integer>reduce(limited, 0, (count, row) -> count + 1, slowly));
    assertThrows(PgTimeoutException.class, () -> connection.query(limited, slowly));
    try (Cursor cursor =
        connection.cursor(
            limited,
            "select x, case when x > 1 then pg_sleep(30) end from generate_series(1, 2) x")) {
      assertEquals(1, cursor.next().getInt(0));
      assertThrows(PgTimeoutException.class, cursor::next);
    }
    assertEquals(1, connection.query("select 1").size());
  }

  @Test
  void aCancelEndsTheStatementThatRunsAndNoOther() throws InterruptedException {
    assertFalse(connection.cancel());
    for (int i = 0; i < 50; i++) {
      CountDownLatch started = new CountDownLatch(1);
      Thread canceller =
          new Thread(
              () -> {
                try {
                  started.await();
                } catch (InterruptedException e) {
                  return;
                }
                connection.cancel();
              });
      canceller.start();
      try {
        started.countDown();
        connection.query("select pg_sleep(0.0005)");
      } catch (ServerException e) {
        assertEquals("57014", e.sqlState());
      }
      // Each of these would fail if a late cancel reached it.
      for (int j = 0; j < 5; j++) {
        connection.query("select " + j);
        if (j == 0) {
          canceller.join();
        }
      }
    }
  }

  @Test
  void anInterruptCancelsTheQueryAndKeepsTheConnection() throws InterruptedException {
    List<Throwable> errors = Collections.synchronizedList(new ArrayList<>());
    boolean[] flag = new boolean[1];
    Thread waiting =
        new Thread(
            () -> {
              try {
                connection.query("select pg_sleep(30)");
              } catch (PgException e) {
                errors.add(e);
              }
              flag[0] = Thread.interrupted();
            });
    waiting.start();
    try (Connection other = PrivateServer.connect()) {
      awaitActive(other, connection.process());
    }
    waiting.interrupt();
    waiting.join();
    assertEquals(1, errors.size());
    assertTrue(errors.get(0).getMessage().contains("interrupted"), errors.get(0).getMessage());
    assertTrue(flag[0]);
    assertEquals(1, connection.query("select 1").size());
  }

  private static void awaitActive(Connection other, int process) {
    while (other
        .query("select 1 from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'", process)
        .isEmpty()) {
      Thread.onSpinWait();
    }
  }

  @Test
  void aKilledServerProcessIsAnErrorInMidRow() {
    try (Connection doomed = PrivateServer.connect()) {
      PgException error =
          assertThrows(
              PgException.class,
              () ->
                  doomed.query(
                      "select pg_terminate_backend(pg_backend_pid()) where x > 5000 from generate_series(1, 10000) x"
                          .replace(
                              "where x > 5000 from generate_series(1, 10000) x",
                              "from generate_series(1, 10000) x where x > 5000")));
      assertTrue(
          error.sqlState().equals("57P01") || error instanceof ConnectionException,
          error.toString());
      assertFalse(doomed.isOpen());
      assertThrows(ConnectionException.class, () -> doomed.query("select 1"));
    }
  }

  @Test
  void aCursorReadsAsFarAsItIsRead() {
    long sum = 0;
    try (Cursor cursor = connection.cursor("select x from generate_series(1, 1000000) x")) {
      for (int i = 0; i < 1000; i++) {
        sum += cursor.next().getLong(0);
      }
      PgException busy = assertThrows(PgException.class, () -> connection.query("select 1"));
      assertTrue(busy.getMessage().contains("cursor"), busy.getMessage());
    }
    assertEquals(500_500, sum);
    assertEquals(1, connection.query("select 1").size());
  }

  @Test
  void aReductionEndsEarlyOrSeesEveryRow() {
    long all =
        connection.reduce(
            Options.DEFAULT,
            0L,
            (sum, row) -> sum + row.getLong(0),
            "select x from generate_series(1, 100000) x");
    assertEquals(5_000_050_000L, all);
    long some =
        connection.reduce(
            Options.DEFAULT,
            0L,
            (sum, row) -> sum > 100 ? new Connection.Reduced(sum) : sum + row.getLong(0),
            "select generate_series(1, 100000000000)");
    assertEquals(105, some);
    assertThrows(
        IllegalStateException.class,
        () ->
            connection.forEach(
                row -> {
                  throw new IllegalStateException("enough");
                },
                "select x from generate_series(1, 100000) x"));
    assertEquals(1, connection.query("select 1").size());
  }

  @Test
  void anErrorInTheMiddleOfACursorFreesTheConnection() {
    Cursor cursor = connection.cursor("select 1 / (500 - x) from generate_series(1, 1000) x");
    ServerException error =
        assertThrows(
            ServerException.class,
            () -> {
              while (cursor.hasNext()) {
                cursor.next();
              }
            });
    assertEquals("22012", error.sqlState());
    cursor.close();
    assertEquals(1, connection.query("select 1").size());
  }

  @Test
  void copyBringsRowsInAndOut() {
    connection.script(
        "drop table if exists copied; create table copied (a int, b text, c timestamptz)");
    byte[] csv =
        "1,one,2024-01-01 00:00:00+00\n2,,2024-01-02 00:00:00+00\n"
            .getBytes(StandardCharsets.UTF_8);
    assertEquals(
        2, connection.copyIn("copy copied from stdin (format csv)", new ByteArrayInputStream(csv)));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    assertEquals(2, connection.copyOut("copy copied to stdout (format csv)", out));
    assertEquals(new String(csv, StandardCharsets.UTF_8), out.toString(StandardCharsets.UTF_8));
    List<List<Object>> rows = new ArrayList<>();
    for (int i = 0; i < 5000; i++) {
      rows.add(Arrays.asList(i, i % 3 == 0 ? null : "row " + i, java.time.Instant.EPOCH));
    }
    assertEquals(
        5000,
        connection.copyIn(
            "copy copied from stdin (format binary)", List.of("int", "text", "timestamptz"), rows));
    assertEquals(5002, connection.query("select count(*) from copied").get(0).getLong(0));
  }

  @Test
  void copyThatFailsOnEitherSideLeavesTheConnectionUsable() {
    connection.script("drop table if exists copied2; create table copied2 (a int)");
    ServerException bad =
        assertThrows(
            ServerException.class,
            () ->
                connection.copyIn(
                    "copy copied2 from stdin",
                    new ByteArrayInputStream(
                        "1\nx\n".repeat(100_000).getBytes(StandardCharsets.UTF_8))));
    assertEquals("22P02", bad.sqlState());
    assertThrows(
        UncheckedIOException.class,
        () ->
            connection.copyIn(
                "copy copied2 from stdin",
                new InputStream() {
                  @Override
                  public int read() throws IOException {
                    throw new IOException("the disk is gone");
                  }
                }));
    assertThrows(
        UncheckedIOException.class,
        () ->
            connection.copyOut(
                "copy (select generate_series(1, 1000000)) to stdout",
                new OutputStream() {
                  @Override
                  public void write(int b) throws IOException {
                    throw new IOException("the disk is full");
                  }
                }));
    assertThrows(
        PgException.class, () -> connection.copyIn("select 1", InputStream.nullInputStream()));
    assertThrows(PgException.class, () -> connection.query("copy copied2 from stdin"));
    assertThrows(PgException.class, () -> connection.query("copy copied2 to stdout"));
    assertThrows(PgException.class, () -> connection.script("copy copied2 from stdin"));
    assertEquals(0, connection.query("select count(*) from copied2").get(0).getLong(0));
  }

  @Test
  void notificationsReachTheHandler() {
    List<Notification> seen = new ArrayList<>();
    connection.onNotification(seen::add);
    connection.listen("odd \"channel\"");
    try (Connection other = PrivateServer.connect()) {
      other.query("select pg_notify($1, $2)", "odd \"channel\"", "hello");
    }
    connection.awaitNotifications(Duration.ofSeconds(20));
    assertEquals(1, seen.size());
    assertEquals("hello", seen.get(0).payload());
  }

  @Test
  void noticesReachTheHandler() {
    List<String> seen = new ArrayList<>();
    Config config =
        PrivateServer.shared().config().notices(notice -> seen.add(notice.message())).build();
    try (Connection noisy = Connection.open(config)) {
      noisy.script("do $$ begin raise notice 'look'; end $$");
    }
    assertEquals(List.of("look"), seen);
  }

  @Test
  void aHandlerThatThrowsDoesNotTearTheConnection() {
    Config config =
        PrivateServer.shared()
            .config()
            .notices(
                notice -> {
                  throw new IllegalStateException(notice.message());
                })
            .build();
    try (Connection noisy = Connection.open(config)) {
      IllegalStateException error =
          assertThrows(
              IllegalStateException.class,
              () -> noisy.script("do $$ begin raise notice 'look'; end $$; select 1"));
      assertEquals("look", error.getMessage());
      assertEquals(2, noisy.query("select 2").get(0).getInt(0));
    }
  }

  @Test
  void aScriptReturnsAResultForEachStatement() {
    List<Result> results =
        connection.script(
            "select 1 as a, 'x' as b; create temp table t (a int); insert into t values (1), (2)");
    assertEquals(3, results.size());
    assertEquals(1, results.get(0).get(0).getInt("a"));
    assertEquals(2, results.get(2).count());
    assertEquals("", connection.query("").tag());
  }

  @Test
  void anotherClientEncodingIsSetBack() {
    connection.script("set client_encoding to 'LATIN1'");
    assertEquals("ä€", connection.query("select 'ä€'").get(0).getString(0));
  }

  @Test
  void rowsOutliveTheConnection() {
    Result rows;
    try (Connection other = PrivateServer.connect()) {
      rows = other.query("select now() as t, 'x' as s, 12.5 as n");
      other.script("set timezone to 'Asia/Tokyo'");
    }
    assertEquals("x", rows.get(0).getString("s"));
    assertEquals(new java.math.BigDecimal("12.5"), rows.get(0).getObject("n"));
    assertNotNull(rows.get(0).getObject("t"));
    assertNull(
        rows.get(0).getObject("t", java.time.OffsetDateTime.class).getOffset().getId().equals("Z")
            ? null
            : "not UTC");
  }

  @Test
  void aUnixSocketIsReached() {
    Config config =
        PrivateServer.shared().config().host(PrivateServer.shared().socketFolder()).build();
    try (Connection local = Connection.open(config)) {
      assertTrue(local.query("select inet_client_addr() is null").get(0).getBoolean(0));
    }
  }

  @Test
  void theFirstHostThatAnswersIsUsed() {
    Config config =
        PrivateServer.shared()
            .config()
            .host("127.0.0.1,127.0.0.1")
            .set("port", "1," + PrivateServer.shared().port())
            .set("target_session_attrs", "read-write")
            .build();
    try (Connection second = Connection.open(config)) {
      assertEquals(1, second.query("select 1").size());
    }
    Config none = PrivateServer.shared().config().set("target_session_attrs", "standby").build();
    assertThrows(ConnectionException.class, () -> Connection.open(none).close());
  }
}
