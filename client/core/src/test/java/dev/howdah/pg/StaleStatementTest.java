package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * A prepared statement whose table was changed elsewhere, or that a pooler has lost. Outside a
 * transaction it is prepared anew by itself; inside one the error says what to do, and the next
 * transaction finds it in order.
 */
class StaleStatementTest {
  private static final String ALL = "select * from changing";
  private static final Options OPENING = Options.DEFAULT.opening("BEGIN").fetchSize(1);

  private Connection connection;

  @BeforeEach
  void connect() {
    connection = PrivateServer.connect();
    connection.script(
        "drop table if exists changing; create table changing (a int); insert into changing values"
            + " (1), (2)");
    connection.query(ALL);
    connection.query(ALL);
  }

  @AfterEach
  void close() {
    connection.close();
  }

  private void changeTheTable() {
    try (Connection other = PrivateServer.connect()) {
      other.script("alter table changing add b int");
    }
  }

  private void loseTheStatement() {
    String name =
        connection
            .query("select name from pg_prepared_statements where statement = $1", ALL)
            .get(0)
            .getString(0);
    // Where the client does not see it, as with a pooler.
    connection.script("do $$ begin execute 'deallocate " + Connection.quoted(name) + "'; end $$");
  }

  private int byQuery(Connection used) {
    return used.query(ALL).size();
  }

  private int byCursor(Connection used) {
    return byCursor(used, Options.DEFAULT);
  }

  private int byOpeningCursor(Connection used) {
    return byCursor(used, OPENING);
  }

  private static int byCursor(Connection used, Options options) {
    int rows = 0;
    try (Cursor cursor = used.cursor(options, ALL)) {
      for (; cursor.hasNext(); rows++) {
        cursor.next();
      }
    }
    return rows;
  }

  private int byReduction(Connection used) {
    return used.reduce(Options.DEFAULT, 0, (rows, row) -> rows + 1, ALL);
  }

  private int byPortal(Connection used) {
    int rows = 0;
    try (Portal portal = used.portal(OPENING, ALL)) {
      while (portal.hasMore()) {
        rows += portal.fetch().size();
      }
    }
    return rows;
  }

  private int byPipeline(Connection used) {
    try (Pipeline pipeline = used.pipeline()) {
      return pipeline.query(ALL).get().size();
    }
  }

  /**
   * Each way to run a statement with each way in which it becomes stale, in transactions if that is
   * wanted.
   */
  private Stream<DynamicTest> ways(boolean inside, Consumer<ToIntFunction<Connection>> test) {
    record Way(String name, ToIntFunction<Connection> run) {}
    List<Way> ways =
        List.of(
            new Way("query", this::byQuery),
            new Way("cursor", this::byCursor),
            new Way("cursor in its own transaction", this::byOpeningCursor),
            new Way("reduction", this::byReduction),
            new Way("portal", this::byPortal));
    List<Way> all =
        inside
            ? Stream.concat(ways.stream(), Stream.of(new Way("pipeline", this::byPipeline)))
                .toList()
            : ways;
    return all.stream()
        .flatMap(
            way ->
                Stream.of(
                    DynamicTest.dynamicTest(
                        way.name() + " after the table was changed",
                        () -> {
                          changeTheTable();
                          test.accept(way.run());
                          again();
                        }),
                    DynamicTest.dynamicTest(
                        way.name() + " after the statement was lost",
                        () -> {
                          loseTheStatement();
                          test.accept(way.run());
                          again();
                        })));
  }

  private void again() {
    close();
    connect();
  }

  @TestFactory
  Stream<DynamicTest> outsideATransactionItIsPreparedAnew() {
    return ways(false, run -> assertEquals(2, run.applyAsInt(connection)));
  }

  @TestFactory
  Stream<DynamicTest> insideATransactionTheErrorSaysWhatToDoAndTheNextOneWorks() {
    return ways(
        true,
        run -> {
          connection.begin(TransactionOptions.DEFAULT);
          assertAdvised(assertThrows(ServerException.class, () -> run.applyAsInt(connection)));
          connection.rollback();
          connection.begin(TransactionOptions.DEFAULT);
          assertEquals(2, run.applyAsInt(connection));
          connection.commit();
        });
  }

  private static void assertAdvised(ServerException error) {
    assertTrue(error.getMessage().contains("statement_cache_size"), error.getMessage());
  }

  @Test
  void aPipelineLeavesItOutAndSaysSo() {
    connection.query("select 1");
    changeTheTable();
    Pipeline pipeline = connection.pipeline();
    Pipeline.Answer before = pipeline.query("select 1");
    Pipeline.Answer stale = pipeline.query(ALL);
    Pipeline.Answer staleToo = pipeline.query(ALL);
    Pipeline.Answer behind = pipeline.query("select 1");
    pipeline.close();
    assertEquals(1, before.get().size());
    assertAdvised(assertThrows(ServerException.class, stale::get));
    assertAdvised(assertThrows(ServerException.class, staleToo::get));
    assertEquals(1, behind.get().size());
    assertFalse(connection.inTransaction());
    assertEquals(2, byPipeline(connection));
  }
}
