package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class LazyRowTest {
  private static final String MIXED =
      "select x::int4 as int4, x::int8 as int8, x::numeric as numeric, x::text || 'foobar' as line,"
          + " x > 100500 as bool, now() as ts, now()::date as date, now()::time as time, null as"
          + " nil from generate_series(1,$1::int) as s(x)";

  private static final OffsetDateTime START =
      OffsetDateTime.of(2024, 1, 1, 0, 0, 0, 0, ZoneOffset.UTC);
  private static final String RACED =
      "select x::int4, x::int8, x::numeric, x::text || 'foobar', x > 1500, '2024-01-01"
          + " 00:00:00+00'::timestamptz + make_interval(secs => x), '2024-01-01'::date + x,"
          + " '00:00'::time + make_interval(secs => x), null, array[x, null, x + 1], row(x, 't' ||"
          + " x)::raced, int4send(x) from generate_series(1,$1::int) as s(x)";

  @Test
  void aDecodedValueIsKept() {
    try (Connection connection = PrivateServer.connect()) {
      Result rows = connection.query(MIXED, 100);
      assertSame(rows.get(7), rows.get(7));
      assertSame(rows.get(7).getObject("line"), rows.get(7).getObject("line"));
      assertNull(rows.get(7).getObject("nil"));
      Row bytes = connection.query("select '\\x01'::bytea").get(0);
      assertEquals(1, ((byte[]) bytes.getObject(0)).length);
      assertNotSame(bytes.getObject(0), bytes.getObject(0), "whoever reads it may change it");
    }
  }

  @Test
  void columnsAreFoundInAnyOrder() {
    StringBuilder sql = new StringBuilder("select ");
    for (int i = 0; i < 60; i++) {
      sql.append(i > 0 ? "," : "")
          .append(i % 7 == 3 ? "null" : "'" + "x".repeat(i) + "'")
          .append(" as c")
          .append(i);
    }
    try (Connection connection = PrivateServer.connect()) {
      for (int seed = 1; seed < 60; seed += 2) {
        Row row = connection.query(sql.toString()).get(0);
        for (int i = 0; i < 180; i++) {
          int column = (i * seed) % 60;
          assertEquals(
              column % 7 == 3 ? null : "x".repeat(column),
              i % 2 == 0 ? row.getString(column) : row.getObject(column));
        }
      }
    }
  }

  @Test
  void nullsAndWrongTypesAreErrorsForPrimitives() {
    try (Connection connection = PrivateServer.connect()) {
      Row row =
          connection
              .query("select null::int as nothing, 'x' as letter, 3000000000 as large, 1.5 as half")
              .get(0);
      assertTrue(
          assertThrows(PgException.class, () -> row.getLong(0))
              .getMessage()
              .contains("nothing is null"));
      assertThrows(PgException.class, () -> row.getLong("letter"));
      assertThrows(PgException.class, () -> row.getInt("large"));
      assertThrows(PgException.class, () -> row.getLong("half"));
      assertThrows(PgException.class, () -> row.getLong("absent"));
      assertThrows(PgException.class, () -> row.getLong(4));
      assertEquals(1.5, row.getDouble("half"));
    }
  }

  @Test
  void whatARowKeepsIsAsDocumented() {
    try (Connection connection = PrivateServer.connect()) {
      for (String sql :
          List.of(
              "select x from generate_series(1, $1::int) x",
              MIXED,
              "select " + "now(),".repeat(59) + "now() from generate_series(1, $1::int)")) {
        connection.query(sql, 10);
        double[] least = {Double.MAX_VALUE, Double.MAX_VALUE};
        // The JVM itself allocates beside us, which can only add, so the least of several counts.
        for (int i = 0; i < 5 && (least[0] > 8 || least[1] > 40); i++) {
          double[] kept = kept(connection, sql);
          least[0] = Math.min(least[0], kept[0]);
          least[1] = Math.min(least[1], kept[1]);
        }
        assertTrue(
            least[0] <= 8, "it keeps " + least[0] + " bytes for each row beside its body: " + sql);
        assertTrue(
            least[1] <= 40,
            "it keeps " + least[1] + " bytes for each row handed out beside its body: " + sql);
      }
    }
  }

  /** Bytes kept for each row beside its body: untouched, and handed out. */
  private static double[] kept(Connection connection, String sql) {
    int count = 50_000;
    long before = used();
    Result rows = connection.query(sql, count);
    long body = bodies(rows);
    double untouched = (double) (used() - before - body) / count;
    for (Row row : rows) {
      assertEquals(rows.columns().size(), row.width());
    }
    double handedOut = (double) (used() - before - body) / count;
    assertEquals(count, rows.size());
    return new double[] {untouched, handedOut};
  }

  private static long bodies(Result rows) {
    long bytes = 0;
    for (int i = 0; i < rows.size(); i++) {
      bytes += rows.bodyLength(i);
    }
    return bytes;
  }

  private static long used() {
    Runtime runtime = Runtime.getRuntime();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 3; i++) {
      System.gc();
      least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
    }
    return least;
  }

  @Test
  void theRowsOfAStatementThatFailedAreNotKept() {
    try (Connection connection = PrivateServer.connect()) {
      String sql = "select repeat('x', 10000), 1 / (5000 - x) from generate_series(1, 10000) x";
      long before = used();
      for (int i = 0; i < 3; i++) {
        // Alone, while it is not kept, and then beside others.
        assertThrows(ServerException.class, () -> connection.query(sql));
        assertThrows(ServerException.class, () -> connection.json(sql));
        long kept = used() - before;
        assertTrue(kept < 10_000_000, "it keeps " + kept + " bytes of 50 MB");
      }
    }
  }

  @Test
  void aSurvivingRowDoesNotKeepItsResult() {
    try (Connection connection = PrivateServer.connect()) {
      String sql = "select x, repeat('x', 100) from generate_series(1, 10000) x";
      connection.query(sql);
      List<Row> kept = new ArrayList<>();
      long before = used();
      for (int i = 0; i < 200; i++) {
        kept.add(connection.query(sql).get(4999).detach());
        connection.forEach(
            row -> {
              if (row.getInt(0) == 5000) {
                kept.add(row);
              }
            },
            sql);
        kept.add(connection.first(sql));
      }
      double each = (double) (used() - before) / kept.size();
      assertTrue(each < 2500, "a surviving row keeps " + each + " bytes");
      assertEquals(600, kept.size());
      assertNotSame(kept.get(0), kept.get(3));
      assertEquals(5000, kept.get(0).getInt(0));
    }
  }

  @Test
  void aSurvivingRowKeepsNothingThatWasDecodedOfOthers() {
    try (Connection connection = PrivateServer.connect()) {
      String sql = "select x, repeat('x', 100) from generate_series(1, 1000) x";
      connection.query(sql);
      List<Row> kept = new ArrayList<>();
      long before = used();
      for (int i = 0; i < 500; i++) {
        Result rows = connection.query(sql);
        int length = 0;
        for (Row row : rows) {
          length += ((String) row.getObject(1)).length();
        }
        assertEquals(100_000, length);
        kept.add(rows.get(499));
      }
      double each = (double) (used() - before) / kept.size();
      // The bytes of 64 rows, those decoded of one, and what stands around both.
      assertTrue(each < 64 * 120 + 600, "a surviving row keeps " + each + " bytes");
      assertEquals(500, kept.get(499).getInt(0));
    }
  }

  @Test
  void threadsThatShareRowsNeverSeeAWrongValue() throws InterruptedException {
    long end = System.nanoTime() + Long.getLong("howdah.race.seconds", 5) * 1_000_000_000L;
    AtomicReference<String> wrong = new AtomicReference<>();
    try (Connection connection = PrivateServer.connect()) {
      connection.script("drop type if exists raced; create type raced as (n int, t text)");
      while (System.nanoTime() < end && wrong.get() == null) {
        Result rows = connection.query(RACED, 3000);
        Thread other = new Thread(() -> visit(rows, wrong));
        other.start();
        visit(rows, wrong);
        other.join();
      }
    }
    assertNull(wrong.get());
  }

  @Test
  void threadsThatAskForARowAtOnceGetTheSame() throws InterruptedException {
    try (Connection connection = PrivateServer.connect()) {
      for (int round = 0; round < 1000; round++) {
        Result rows = connection.query("select x from generate_series(1, 200) x");
        Row[] theirs = new Row[rows.size()];
        AtomicInteger arrived = new AtomicInteger();
        Thread other = new Thread(() -> take(rows, theirs, arrived));
        other.start();
        Row[] ours = new Row[rows.size()];
        take(rows, ours, arrived);
        other.join();
        for (int i = 0; i < ours.length; i++) {
          assertSame(ours[i], theirs[i]);
        }
      }
    }
  }

  private static void take(Result rows, Row[] taken, AtomicInteger arrived) {
    arrived.incrementAndGet();
    while (arrived.get() < 2) {
      Thread.onSpinWait();
    }
    for (int i = 0; i < taken.length; i++) {
      taken[i] = rows.get(i);
    }
  }

  private static void visit(Result rows, AtomicReference<String> wrong) {
    for (int i = 0; i < rows.size(); i++) {
      Row row = rows.get(i);
      int x = i + 1;
      Object line = row.getObject(3);
      Object number = row.getObject(0);
      boolean right =
          Integer.valueOf(x).equals(number)
              && (x + "foobar").equals(line)
              && row.getLong(1) == x
              && BigDecimal.valueOf(x).equals(row.getObject(2))
              && Boolean.valueOf(x > 1500).equals(row.getObject(4))
              && START.plusSeconds(x).equals(row.getObject(5))
              && START.toLocalDate().plusDays(x).equals(row.getObject(6))
              && LocalTime.ofSecondOfDay(x).equals(row.getObject(7))
              && row.getObject(8) == null
              && Arrays.asList(x, null, x + 1).equals(row.getObject(9))
              && List.of(x, "t" + x).equals(row.getObject(10))
              && Arrays.equals(
                  ByteBuffer.allocate(4).putInt(x).array(), (byte[]) row.getObject(11));
      if (!right) {
        wrong.set("row " + i + ": " + row.toMap());
      }
    }
  }

  @Test
  void jsonFromTheWireIsTheServersOwn() {
    String sql =
        "select x as a, null as b, 'quote \" and \\ and \n"
            + "' || x as \"odd \"\"name\"\"\", jsonb_build_object('k', x) as c, array[x, null] as"
            + " d, x / 3.0 as e, x::float8 / 3 as f, '2024-01-01 10:00:00.5+00'::timestamptz as g,"
            + " row(x, 'y') as h, true as i from generate_series(1, 2000) x";
    try (Connection connection = PrivateServer.connect()) {
      String server =
          connection
              .query("select string_agg(row_to_json(q)::text, ',') from (" + sql + ") q")
              .get(0)
              .getString(0);
      ByteArrayOutputStream streamed = new ByteArrayOutputStream();
      assertEquals(2000, connection.writeJson(streamed, sql));
      assertEquals("[" + server + "]", streamed.toString(StandardCharsets.UTF_8));
      ByteArrayOutputStream kept = new ByteArrayOutputStream();
      connection.query(sql).writeJson(kept);
      assertArrayEquals(streamed.toByteArray(), connection.json(sql));
      assertEquals(
          streamed.toString(StandardCharsets.UTF_8), kept.toString(StandardCharsets.UTF_8));
      ByteArrayOutputStream none = new ByteArrayOutputStream();
      connection.writeJson(none, "select 1 where false");
      assertEquals("[]", new String(connection.json("select 1 where false")));
      assertEquals("[]", new String(connection.json("set application_name = 'json'")));
      assertEquals("[]", none.toString(StandardCharsets.UTF_8));
    }
  }

  @Test
  void csvFromTheWireIsTheServersOwn() {
    String sql =
        "select x as \"a,b\", case x % 4 when 0 then null when 1 then '' when 2 then 'q \"' else"
            + " E'l\\n"
            + "m' end as b, x > 3 as c, array[x, 2] as d, now() as e, x / 7.0 as f from"
            + " generate_series(1, 3000) x";
    try (Connection connection = PrivateServer.connect()) {
      connection.begin(TransactionOptions.DEFAULT);
      ByteArrayOutputStream server = new ByteArrayOutputStream();
      connection.copyOut("copy (" + sql + ") to stdout (format csv, header)", server);
      ByteArrayOutputStream ours = new ByteArrayOutputStream();
      assertEquals(3000, connection.writeCsv(ours, sql));
      assertEquals(server.toString(StandardCharsets.UTF_8), ours.toString(StandardCharsets.UTF_8));
      connection.rollback();
    }
  }
}
