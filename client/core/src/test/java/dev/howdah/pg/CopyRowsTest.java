package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** COPY's three formats carry the same rows as a query, out and in. */
class CopyRowsTest {
  private static final List<String> TYPES =
      List.of("int", "text", "timestamptz", "numeric", "int[]", "jsonb", "bytea");
  private Connection connection;

  @BeforeEach
  void connect() {
    connection = PrivateServer.connect();
    connection.script(
        "drop table if exists odd; create table odd (n int, t text, at timestamptz, d numeric, a"
            + " int[], j jsonb, b bytea); insert into odd select row_number() over (), t, now(),"
            + " 1.50, array[1,null], '{\"a\": \"\\\\\"}', '\\x00ff0a09' from unnest(array['', null,"
            + " '\\N', '\\.', '\\\\', E'a\\tb\\n"
            + "c\\r"
            + "d\\be\\ff\\vg', 'a,b', '\"', 'a\"\"b', 'äé😀', ' ', E'\\n"
            + "', 'NULL']) t; insert into odd (n, t) select x, repeat('x', x) from"
            + " generate_series(100, 3000) x");
  }

  @AfterEach
  void close() {
    connection.close();
  }

  private void sameAsQuery(List<Row> copied, String query) {
    Result rows = connection.query(query);
    assertEquals(rows.size(), copied.size());
    for (int i = 0; i < rows.size(); i++) {
      assertArrayEquals(rows.get(i).toArray(), copied.get(i).toArray());
      assertEquals(rows.get(i).toJson(), copied.get(i).toJson());
    }
  }

  @ParameterizedTest
  @EnumSource
  void rowsComeOutAsAQueryGivesThem(CopyFormat format) {
    List<Row> copied = new ArrayList<>();
    assertEquals(2914, connection.copyOut(format, "select * from odd order by n", copied::add));
    sameAsQuery(copied, "select * from odd order by n");
    assertEquals(
        List.of("n", "t", "at", "d", "a", "j", "b"),
        copied.get(0).columns().stream().map(Column::name).toList());
    copied.clear();
    connection.copyOut(format, "select t from odd order by n", copied::add);
    sameAsQuery(copied, "select t from odd order by n");
    assertEquals(0, connection.copyOut(format, "select 1 where false", copied::add));
  }

  @ParameterizedTest
  @EnumSource
  void rowsGoInAndAreTheSame(CopyFormat format) {
    connection.script("drop table if exists copied3; create table copied3 (like odd)");
    List<List<?>> values =
        connection.query("select * from odd").stream()
            .<List<?>>map(row -> Arrays.asList(row.toArray()))
            .toList();
    String sql = "copy copied3 from stdin (format " + format + ")";
    assertEquals(2914, connection.copyIn(sql, format, TYPES, values));
    assertEquals(0, connection.query("select * from odd except select * from copied3").size());
    assertThrows(
        PgException.class, () -> connection.copyIn(sql, format, TYPES, List.of(List.of(1))));
    assertEquals(2914, connection.query("select * from copied3").size());
  }

  @Test
  void typesWithoutABinaryFormatTravelAsText() {
    List<String> seen = new ArrayList<>();
    PgException refused =
        assertThrows(
            PgException.class,
            () ->
                connection.copyOut(
                    CopyFormat.BINARY,
                    "select '1.5'::money as price",
                    row -> seen.add(row.getString(0))));
    assertTrue(
        refused.getMessage().contains("price") && refused.getMessage().contains("text"),
        refused.getMessage());
    connection.copyOut(
        CopyFormat.TEXT, "select '1.5'::money as price", row -> seen.add(row.getString("price")));
    assertEquals(List.of("$1.50"), seen);
  }

  @ParameterizedTest
  @EnumSource
  void whatGoesWrongLeavesTheConnectionUsable(CopyFormat format) {
    assertThrows(
        IllegalStateException.class,
        () ->
            connection.copyOut(
                format,
                "select generate_series(1, 10000000)",
                row -> {
                  assertEquals(
                      "55006",
                      assertThrows(PgException.class, () -> connection.query("select 1"))
                          .sqlState());
                  throw new IllegalStateException();
                }));
    List<Integer> seen = new ArrayList<>();
    assertThrows(
        ServerException.class,
        () ->
            connection.copyOut(
                format,
                "select 1 / (5 - x) from generate_series(1, 9) x",
                row -> seen.add(row.getInt(0))));
    assertEquals(4, seen.size());
    assertThrows(
        ServerException.class, () -> connection.copyOut(format, "select nonsense", row -> {}));
    assertEquals(1, connection.query("select 1").size());
  }

  @Test
  void noticesDoNotEndACopy() {
    List<String> seen = new ArrayList<>();
    Config config =
        PrivateServer.shared()
            .config()
            .notices(notice -> seen.add(notice.message()))
            .set("query_timeout", 20)
            .build();
    try (Connection noisy = Connection.open(config)) {
      noisy.script(
          """
          create temp table watched (a int);
          create function pg_temp.watch() returns trigger language plpgsql as $$
            begin if new.a % 1000 = 0 then raise notice 'row %', new.a; end if; return new; end $$;
          create trigger watch before insert on watched for each row execute function pg_temp.watch();
          """);
      List<List<?>> rows = IntStream.rangeClosed(1, 100_000).<List<?>>mapToObj(List::of).toList();
      assertEquals(
          100_000, noisy.copyIn("copy watched from stdin (format binary)", List.of("int"), rows));
      assertEquals(100, seen.size());
      assertEquals(100_000, noisy.query("select count(*) from watched").get(0).getLong(0));
    }
  }

  @Test
  void aSecondCopyBehindTheFirstIsRefused() {
    try (Connection limited =
        Connection.open(PrivateServer.shared().config().set("query_timeout", 20).build())) {
      limited.script("create temp table first_copy (a int); create temp table second_copy (a int)");
      ServerException refused =
          assertThrows(
              ServerException.class,
              () ->
                  limited.copyIn(
                      "copy first_copy from stdin; copy second_copy from stdin",
                      new ByteArrayInputStream("1\n".getBytes())));
      assertTrue(refused.getMessage().contains("runs alone"), refused.getMessage());
      assertEquals(0, limited.query("select count(*) from first_copy").get(0).getLong(0));
    }
  }

  @Test
  void copyThatPassesItsLimitIsCancelled() {
    Options limited = Options.DEFAULT.timeout(Duration.ofMillis(200));
    String slow = "select pg_sleep(60)";
    connection.script("create temp table locked (a int)");
    assertThrows(
        PgTimeoutException.class,
        () ->
            connection.copyOut(
                limited, "copy (" + slow + ") to stdout", OutputStream.nullOutputStream()));
    assertThrows(
        PgTimeoutException.class,
        () -> connection.copyOut(limited, CopyFormat.BINARY, slow, row -> {}));
    connection.script(
        "create function pg_temp.hesitate() returns trigger language plpgsql as 'begin perform"
            + " pg_sleep(60); return new; end'; create trigger hesitate before insert on locked for"
            + " each row execute function pg_temp.hesitate()");
    // More than the sockets hold, so that the limit passes while the server takes nothing.
    byte[] lines = "1\n".repeat(10_000_000).getBytes(StandardCharsets.US_ASCII);
    assertThrows(
        PgTimeoutException.class,
        () ->
            connection.copyIn(limited, "copy locked from stdin", new ByteArrayInputStream(lines)));
    assertThrows(
        PgTimeoutException.class,
        () ->
            connection.copyIn(
                limited,
                "copy locked from stdin (format binary)",
                CopyFormat.BINARY,
                List.of("int"),
                List.of(List.of(1))));
    assertEquals(0, connection.query("select * from locked").size());
  }

  @Test
  void aCommentAtTheEndOfAQueryHidesNothing() {
    List<Row> copied = new ArrayList<>();
    assertEquals(1, connection.copyOut(CopyFormat.BINARY, "select 1 -- the one", copied::add));
  }

  @ParameterizedTest
  @EnumSource
  void aRowThatIsNullIsRefused(CopyFormat format) {
    connection.script("create temp table rows (a int)");
    PgException refused =
        assertThrows(
            PgException.class,
            () ->
                connection.copyIn(
                    "copy rows from stdin (format " + format + ")",
                    format,
                    List.of("int"),
                    Arrays.asList(List.of(1), null)));
    assertTrue(refused.getMessage().contains("a row is null"), refused.getMessage());
    assertEquals(0, connection.query("select * from rows").size());
  }
}
