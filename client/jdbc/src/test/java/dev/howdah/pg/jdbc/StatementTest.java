package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StatementTest {
  private Connection connection;
  private Statement statement;

  @BeforeEach
  void connect() throws SQLException {
    connection = Howdah.connect();
    statement = connection.createStatement();
    statement.execute(
        "create temp table t (id int generated always as identity primary key, name text)");
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
  }

  @Test
  void rowsAndCountsAreToldApart() throws SQLException {
    assertFalse(statement.execute("insert into t (name) values ('a'), ('b')"));
    assertEquals(2, statement.getUpdateCount());
    assertNull(statement.getResultSet());
    assertFalse(statement.getMoreResults());
    assertEquals(-1, statement.getUpdateCount());
    assertTrue(statement.execute("select name from t order by id"));
    assertEquals(-1, statement.getUpdateCount());
    assertNotNull(statement.getResultSet());
    assertEquals(2, statement.executeUpdate("update t set name = upper(name)"));
    assertEquals(0, statement.executeUpdate("create temp table u (a int)"));
    assertEquals(
        3,
        statement.executeLargeUpdate(
            "create temp table v as select x from generate_series(1, 3) x"));
    assertTrue(statement.execute("insert into t (name) values ('c') returning id"));
  }

  @Test
  void theWrongMethodSaysWhichIsRight() {
    assertEquals(
        "02000", Howdah.state(() -> statement.executeQuery("insert into t (name) values ('x')")));
    assertEquals("0100E", Howdah.state(() -> statement.executeUpdate("select 1")));
  }

  @Test
  void severalStatementsHaveSeveralResults() throws SQLException {
    assertFalse(
        statement.execute(
            "insert into t (name) values ('a'); select id, name from t; select 42 as x; delete from"
                + " t"));
    assertEquals(1, statement.getUpdateCount());
    assertTrue(statement.getMoreResults());
    ResultSet first = statement.getResultSet();
    assertTrue(first.next());
    assertEquals("a", first.getString("name"));
    assertTrue(statement.getMoreResults(Statement.KEEP_CURRENT_RESULT));
    ResultSet second = statement.getResultSet();
    assertTrue(second.next());
    assertEquals(42, second.getInt("x"));
    assertFalse(first.isClosed());
    assertFalse(statement.getMoreResults(Statement.CLOSE_ALL_RESULTS));
    assertTrue(first.isClosed());
    assertTrue(second.isClosed());
    assertEquals(1, statement.getUpdateCount());
    assertFalse(statement.getMoreResults());
    assertEquals(-1, statement.getUpdateCount());
  }

  @Test
  void anErrorAmongSeveralStatementsUndoesThemAll() throws SQLException {
    assertEquals(
        "22012",
        Howdah.state(() -> statement.execute("insert into t (name) values ('a'); select 1/0")));
    assertEquals(0L, Howdah.value(connection, "select count(*) from t"));
  }

  @Test
  void aFunctionWithAtomicBodyIsOneStatement() throws SQLException {
    statement.execute(
        "create function pg_temp.f() returns int language sql begin atomic select 1; select 2;"
            + " end");
    assertEquals(2, Howdah.value(connection, "select pg_temp.f()"));
  }

  @Test
  void questionMarksAreThemselves() throws SQLException {
    assertEquals(true, Howdah.value(connection, "select '{\"a\":1}'::jsonb ? 'a'"));
    assertEquals(true, Howdah.value(connection, "select '{\"a\":1}'::jsonb ?? 'a'"));
  }

  @Test
  void generatedKeysComeBack() throws SQLException {
    assertEquals(
        2,
        statement.executeUpdate(
            "insert into t (name) values ('a'), ('b')", Statement.RETURN_GENERATED_KEYS));
    ResultSet keys = statement.getGeneratedKeys();
    assertTrue(keys.next());
    assertEquals(1, keys.getInt("id"));
    assertEquals("a", keys.getString("NAME"));
    assertTrue(keys.next());
    assertFalse(keys.next());
    assertEquals(
        1, statement.executeUpdate("insert into t (name) values ('c')", new String[] {"id"}));
    keys = statement.getGeneratedKeys();
    assertEquals(1, keys.getMetaData().getColumnCount());
    assertTrue(keys.next());
    assertEquals(3, keys.getInt(1));
    assertFalse(statement.execute("insert into t (name) values ('d')"));
    assertFalse(statement.getGeneratedKeys().next());
    assertEquals(
        1,
        statement.executeUpdate(
            "insert into t (name) values ('e') returning name", Statement.RETURN_GENERATED_KEYS));
    keys = statement.getGeneratedKeys();
    assertTrue(keys.next());
    assertEquals("e", keys.getString(1));
    assertEquals(
        "IM001",
        Howdah.state(
            () -> statement.executeUpdate("insert into t (name) values ('c')", new int[] {1})));
    assertTrue(statement.execute("select 1", Statement.RETURN_GENERATED_KEYS));
  }

  @Test
  void whatReturnsNothingIsOneRoundTripAndNotPrepared() throws SQLException {
    var core = Howdah.core(connection);
    int prepared = core.preparedStatements();
    long before = core.writes();
    statement.executeUpdate("insert into t (name) values ('only once')");
    assertEquals(1, core.writes() - before);
    assertEquals(prepared, core.preparedStatements());
  }

  @Test
  void aBatchIsAllOrNothing() throws SQLException {
    statement.addBatch("insert into t (name) values ('a')");
    statement.addBatch("update t set name = 'b'");
    statement.addBatch("delete from t where name = 'c'");
    org.junit.jupiter.api.Assertions.assertArrayEquals(
        new int[] {1, 1, 0}, statement.executeBatch());
    assertEquals(0, statement.executeBatch().length);
    statement.addBatch("insert into t (name) values ('z')");
    statement.addBatch("insert into nowhere values (1)");
    statement.addBatch("insert into t (name) values ('y')");
    BatchUpdateException error = assertThrows(BatchUpdateException.class, statement::executeBatch);
    assertEquals("42P01", error.getSQLState());
    org.junit.jupiter.api.Assertions.assertArrayEquals(
        new int[] {Statement.EXECUTE_FAILED, Statement.EXECUTE_FAILED, Statement.EXECUTE_FAILED},
        error.getUpdateCounts());
    assertEquals(1L, Howdah.value(connection, "select count(*) from t"));
  }

  @Test
  void aBatchInATransactionTellsWhatRan() throws SQLException {
    connection.setAutoCommit(false);
    statement.addBatch("insert into t (name) values ('z')");
    statement.addBatch("select 1/0");
    statement.addBatch("insert into t (name) values ('y')");
    BatchUpdateException error = assertThrows(BatchUpdateException.class, statement::executeBatch);
    assertEquals("22012", error.getSQLState());
    assertEquals(1, error.getUpdateCounts()[0]);
    assertEquals(Statement.EXECUTE_FAILED, error.getUpdateCounts()[1]);
    connection.rollback();
    assertEquals(0L, Howdah.value(connection, "select count(*) from t"));
  }

  @Test
  void mostRowsIsTheMost() throws SQLException {
    statement.setMaxRows(3);
    try (ResultSet rows = statement.executeQuery("select * from generate_series(1, 10)")) {
      int count = 0;
      while (rows.next()) {
        count++;
      }
      assertEquals(3, count);
    }
    statement.execute("select 1; select * from generate_series(1, 10)");
    statement.getMoreResults();
    ResultSet rows = statement.getResultSet();
    assertTrue(rows.next() && rows.next() && rows.next());
    assertFalse(rows.next());
    assertEquals(
        4, statement.executeUpdate("insert into t (name) select 'x' from generate_series(1, 4)"));
  }

  @Test
  void noticesAreTheStatementsWarnings() throws SQLException {
    statement.execute("do $$ begin raise warning 'one'; raise notice 'two'; end $$");
    SQLWarning warning = statement.getWarnings();
    assertTrue(warning.getMessage().contains("one"));
    assertEquals("01000", warning.getSQLState());
    assertTrue(warning.getNextWarning().getMessage().contains("two"));
    assertNull(connection.getWarnings());
    statement.execute("select 1");
    assertNull(statement.getWarnings());
    statement.execute("do $$ begin for i in 1..5000 loop raise notice '%', i; end loop; end $$");
    int count = 0;
    for (SQLWarning next = statement.getWarnings(); next != null; next = next.getNextWarning()) {
      count++;
    }
    assertEquals(1000, count);
  }

  @Test
  void aStatementThatTakesTooLongIsCancelled() throws SQLException {
    statement.setQueryTimeout(1);
    SQLException error =
        assertThrows(SQLException.class, () -> statement.execute("select pg_sleep(30)"));
    assertInstanceOf(SQLTimeoutException.class, error);
    assertEquals("57014", error.getSQLState());
    assertFalse(connection.isClosed());
    assertEquals(1, Howdah.value(connection, "select 1"));
  }

  @Test
  void anotherThreadCancelsThisStatementAndNoOther() throws Exception {
    Statement idle = connection.createStatement();
    CompletableFuture<SQLException> ended =
        CompletableFuture.supplyAsync(
            () -> assertThrows(SQLException.class, () -> statement.execute("select pg_sleep(30)")));
    int process = Howdah.core(connection).process();
    try (Connection watcher = Howdah.connect()) {
      String asleep =
          "select count(*) from pg_stat_activity where pid = "
              + process
              + " and wait_event = 'PgSleep'";
      while (!Long.valueOf(1).equals(Howdah.value(watcher, asleep))) {
        Thread.onSpinWait();
      }
      idle.cancel();
      assertEquals(1L, Howdah.value(watcher, asleep));
      statement.cancel();
    }
    assertEquals("57014", ended.get().getSQLState());
    assertEquals(1, Howdah.value(connection, "select 1"));
    statement.cancel();
    assertEquals(2, Howdah.value(connection, "select 2"));
  }

  @Test
  void closingAStatementClosesItsRows() throws SQLException {
    ResultSet rows = statement.executeQuery("select 1");
    statement.executeQuery("select 2");
    assertTrue(rows.isClosed());
    assertEquals("24000", Howdah.state(rows::next));
    rows = statement.executeQuery("select 3");
    statement.close();
    assertTrue(rows.isClosed());
    assertEquals("55000", Howdah.state(() -> statement.execute("select 1")));
    statement.close();
    Statement other = connection.createStatement();
    rows = other.executeQuery("select 1");
    connection.close();
    assertTrue(other.isClosed() && rows.isClosed());
    assertEquals("08003", Howdah.state(() -> other.execute("select 1")));
  }

  @Test
  void aStatementMayCloseWithItsRows() throws SQLException {
    statement.closeOnCompletion();
    assertTrue(statement.isCloseOnCompletion());
    ResultSet rows = statement.executeQuery("select 1");
    rows.close();
    assertTrue(statement.isClosed());
  }

  @Test
  void whatIsNotSupportedSaysWhatToUse() {
    assertEquals("IM001", Howdah.state(() -> statement.setCursorName("c")));
    assertEquals("IM001", Howdah.state(() -> statement.setMaxFieldSize(10)));
    assertEquals(
        "IM001",
        Howdah.state(
            () ->
                connection.createStatement(
                    ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_READ_ONLY)));
    assertEquals("22023", Howdah.state(() -> statement.setFetchSize(-1)));
  }
}
