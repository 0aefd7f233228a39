package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.types.Composite;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Composite types that another session alters while this connection knows them. Outside a
 * transaction they are learned again; inside one it is an error. A value is never read by fields
 * that it does not have.
 */
class AlteredTypeTest {
  /** Its fields have the values that are theirs by name, whatever fields there are. */
  private static final String VALUE =
      "jsonb_populate_record(null::altered.pair, '{\"a\": 1, \"b\": \"x\", \"c\": \"y\", \"d\":"
          + " 2}')";

  private static final List<String> CHANGES =
      List.of(
          "alter type altered.pair rename attribute b to c",
          "alter type altered.pair drop attribute c, add attribute b text",
          "alter type altered.pair add attribute d int",
          "alter type altered.pair drop attribute a",
          "alter type altered.pair drop attribute d, add attribute d text");

  private Connection connection;
  private Connection other;

  @BeforeEach
  void connect() {
    connection = PrivateServer.connect();
    other = PrivateServer.connect();
    other.script(
        "drop schema if exists altered cascade; create schema altered; create type altered.pair as"
            + " (a int, b text)");
  }

  @AfterEach
  void close() {
    connection.close();
    other.close();
  }

  private static Object plain(Object value) {
    if (value instanceof Composite composite) {
      Map<String, Object> fields = new LinkedHashMap<>();
      composite.names().forEach(name -> fields.put(name, plain(composite.get(name))));
      return fields;
    }
    return value instanceof List<?> list
        ? list.stream().map(AlteredTypeTest::plain).toList()
        : value;
  }

  /** What every way to run a statement makes of the types. */
  private static List<Object> readings(Connection used) {
    List<Object> seen = new ArrayList<>();
    seen.add(plain(used.query("select " + VALUE).get(0).getObject(0)));
    seen.add(plain(used.query("select array[" + VALUE + "]").get(0).getObject(0)));
    seen.add(
        plain(used.query(Options.DEFAULT.binary(false), "select " + VALUE).get(0).getObject(0)));
    seen.add(plain(used.query("select row(" + VALUE + ", 1)::altered.outer").get(0).getObject(0)));
    seen.add(plain(used.query("select t from altered.stored t").get(0).getObject(0)));
    seen.add(new String(used.json("select " + VALUE + " as v")));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    used.writeJson(out, "select " + VALUE + " as v");
    seen.add(out.toString());
    seen.add(
        used.query("select $1::altered.pair::text", Map.of("a", 1, "b", "x", "c", "y", "d", 2))
            .get(0)
            .getObject(0));
    try (Cursor cursor = used.cursor("select " + VALUE)) {
      seen.add(plain(cursor.next().getObject(0)));
    }
    return seen;
  }

  private static List<Object> readingsOfAnother() {
    try (Connection fresh = PrivateServer.connect()) {
      return readings(fresh);
    }
  }

  private void makeWhatContainsTheType() {
    other.script(
        "create type altered.outer as (p altered.pair, n int); create table altered.stored (p"
            + " altered.pair); insert into altered.stored select "
            + VALUE);
  }

  @Test
  void aTypeIsLearnedAgainOutsideATransaction() {
    makeWhatContainsTheType();
    for (String change : CHANGES) {
      assertEquals(readingsOfAnother(), readings(connection));
      other.script(change);
      assertEquals(readingsOfAnother(), readings(connection), change);
    }
  }

  @Test
  void insideATransactionItIsAnErrorThatSaysWhatToDo() {
    makeWhatContainsTheType();
    connection.query("select " + VALUE);
    connection.query("select " + VALUE);
    try (Connection streaming = PrivateServer.connect()) {
      streaming.query("select " + VALUE);
      streaming.query("select " + VALUE);
      other.script(CHANGES.get(0));
      connection.begin(TransactionOptions.DEFAULT);
      assertAdvised(assertThrows(ServerException.class, () -> connection.query("select " + VALUE)));
      connection.rollback();
      Options opening = Options.DEFAULT.opening("BEGIN");
      assertEquals(1, streaming.portal(opening, "select " + VALUE).fetch().size());
      streaming.rollback();
      streaming.query("select " + VALUE);
      other.script(CHANGES.get(1));
      streaming.begin(TransactionOptions.DEFAULT);
      assertAdvised(assertThrows(ServerException.class, () -> streaming.cursor("select " + VALUE)));
      streaming.rollback();
      assertEquals(readingsOfAnother(), readings(streaming));
    }
    assertEquals(readingsOfAnother(), readings(connection));
  }

  private static void assertAdvised(ServerException error) {
    assertTrue(error.getMessage().contains("statement_cache_size"), error.getMessage());
  }

  @Test
  void aTypeMayGetAnotherNameOrSchema() {
    String sql = "select t.p from altered.kept t";
    other.script(
        "create table altered.kept (p altered.pair); insert into altered.kept values ((1, 'x'))");
    assertEquals(Map.of("a", 1, "b", "x"), plain(connection.query(sql).get(0).getObject(0)));
    for (String change :
        List.of(
            "alter type altered.pair rename to couple",
            "drop schema if exists elsewhere cascade; create schema elsewhere;"
                + " alter type altered.couple set schema elsewhere",
            "alter schema elsewhere rename to altered_elsewhere")) {
      other.script(change);
      assertEquals(
          Map.of("a", 1, "b", "x"), plain(connection.query(sql).get(0).getObject(0)), change);
    }
    other.script("drop schema altered_elsewhere cascade");
  }

  @Test
  void aTypeOfASchemaThatTheRoleMayNotUseIsReadAllTheSame() {
    other.script(
        "drop role if exists outsider; create role outsider; create function public.altered_value()"
            + " returns altered.pair security definer language sql as $$ select "
            + VALUE
            + " $$");
    connection.script("set role outsider");
    for (int i = 0; i < 2; i++) {
      connection.begin(TransactionOptions.DEFAULT);
      assertEquals(
          Map.of("a", 1, "b", "x"),
          plain(connection.query("select public.altered_value()").get(0).getObject(0)));
      connection.commit();
    }
    connection.script("reset role");
    other.script("drop function public.altered_value; drop role outsider");
  }

  @Test
  void aKnownStatementIsOneWriteAndLeavesNothingBehind() {
    String sql = "select " + VALUE;
    connection.query(sql);
    connection.query(sql);
    connection.begin(TransactionOptions.DEFAULT);
    long before = connection.writes();
    connection.query(sql);
    connection.query(sql);
    assertEquals(before + 2, connection.writes());
    assertEquals(0, connection.query("select 1 from pg_cursors where name <> ''").size());
    connection.commit();
    connection.script("alter type altered.pair add attribute e int");
    connection.query("select 1");
    connection.query("select 1");
    assertEquals(
        1,
        connection
            .query(
                "select statement from pg_prepared_statements where not statement like"
                    + " '%prepared%'")
            .size());
  }

  /**
   * The table has one row, whose one column is named by its value. A reader has the table's lock
   * while its names are compared.
   */
  @Test
  void noThreadReadsAValueByTheNameOfAnother() throws InterruptedException, ExecutionException {
    other.script("create table altered.named (k0 text); insert into altered.named values ('k0')");
    AtomicBoolean stop = new AtomicBoolean();
    List<CompletableFuture<?>> readers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      readers.add(
          CompletableFuture.runAsync(
              () -> {
                while (!stop.get()) {
                  Composite read =
                      (Composite)
                          connection.query("select n from altered.named n").get(0).getObject(0);
                  assertEquals(read.names().get(0), read.get(0));
                }
              }));
    }
    for (int i = 0; i < 200; i++) {
      other.script(
          "begin; alter table altered.named rename k"
              + i
              + " to k"
              + (i + 1)
              + "; update altered.named set k"
              + (i + 1)
              + " = 'k"
              + (i + 1)
              + "'; commit");
    }
    stop.set(true);
    for (CompletableFuture<?> reader : readers) {
      reader.get();
    }
  }
}
