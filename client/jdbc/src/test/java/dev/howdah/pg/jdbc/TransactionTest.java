package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TransactionTest {
  private Connection connection;

  @BeforeEach
  void connect() throws SQLException {
    connection = Howdah.connect();
    Howdah.execute(connection, "create temp table t (a int)");
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
  }

  private long writes() throws SQLException {
    return Howdah.core(connection).writes();
  }

  @Test
  void aTransactionBeginsWithItsFirstStatementInTheSameWrite() throws SQLException {
    connection.setAutoCommit(false);
    try (PreparedStatement insert = connection.prepareStatement("insert into t values (?)")) {
      insert.setInt(1, 1);
      insert.executeUpdate();
      insert.executeUpdate();
      connection.commit();
      long before = writes();
      assertFalse(Howdah.core(connection).inTransaction());
      insert.executeUpdate();
      assertTrue(Howdah.core(connection).inTransaction());
      assertEquals(1, writes() - before, "BEGIN and the statement");
      connection.commit();
      assertEquals(2, writes() - before);
      connection.commit();
      connection.rollback();
      assertEquals(2, writes() - before, "there was nothing to end");
    }
    assertEquals(3L, Howdah.value(connection, "select count(*) from t"));
  }

  @Test
  void rollbackUndoesAndAutoCommitDoesNot() throws SQLException {
    Howdah.execute(connection, "insert into t values (1)");
    connection.setAutoCommit(false);
    Howdah.execute(connection, "insert into t values (2)");
    connection.rollback();
    Howdah.execute(connection, "insert into t values (3)");
    connection.setAutoCommit(true);
    assertEquals(4L, Howdah.value(connection, "select sum(a) from t"));
    assertEquals("25P01", Howdah.state(connection::commit));
    assertEquals("25P01", Howdah.state(connection::rollback));
    assertEquals("25P01", Howdah.state(connection::setSavepoint));
  }

  @Test
  void afterAnErrorNothingRunsUntilTheRollback() throws SQLException {
    connection.setAutoCommit(false);
    assertEquals("22012", Howdah.state(() -> Howdah.execute(connection, "select 1/0")));
    assertEquals("25P02", Howdah.state(() -> Howdah.execute(connection, "select 1")));
    assertTrue(connection.isValid(1));
    assertEquals(
        "25P02",
        Howdah.state(connection::commit),
        "a commit that rolled back must not look like one");
    Howdah.execute(connection, "select 1");
    connection.rollback();
  }

  @Test
  void savepointsNest() throws SQLException {
    connection.setAutoCommit(false);
    Savepoint outer = connection.setSavepoint("a \"b");
    Howdah.execute(connection, "insert into t values (1)");
    Savepoint inner = connection.setSavepoint();
    assertEquals("22012", Howdah.state(() -> Howdah.execute(connection, "select 1/0")));
    connection.rollback(inner);
    Howdah.execute(connection, "insert into t values (2)");
    connection.releaseSavepoint(inner);
    assertEquals("3B001", Howdah.state(() -> connection.rollback(inner)));
    assertEquals("a \"b", outer.getSavepointName());
    assertEquals("3B001", Howdah.state(outer::getSavepointId));
    assertEquals(3L, Howdah.value(connection, "select sum(a) from t"));
    connection.rollback(outer);
    assertEquals(0L, Howdah.value(connection, "select count(*) from t"));
    connection.commit();
  }

  @Test
  void isolationAndReadOnlyHoldInTransactionsAndOutside() throws SQLException {
    assertEquals(Connection.TRANSACTION_READ_COMMITTED, connection.getTransactionIsolation());
    long before = writes();
    connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
    connection.setReadOnly(true);
    assertEquals(before, writes(), "nothing is sent before it matters");
    assertEquals("serializable", Howdah.value(connection, "show transaction_isolation"));
    assertEquals(
        "25006", Howdah.state(() -> Howdah.execute(connection, "create table never (a int)")));
    connection.setAutoCommit(false);
    assertEquals("serializable", Howdah.value(connection, "show transaction_isolation"));
    assertEquals("on", Howdah.value(connection, "show transaction_read_only"));
    assertEquals("25001", Howdah.state(() -> connection.setReadOnly(false)));
    assertEquals(
        "25001",
        Howdah.state(
            () -> connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED)));
    connection.commit();
    connection.setReadOnly(false);
    connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    assertEquals("repeatable read", Howdah.value(connection, "show transaction_isolation"));
    assertEquals("off", Howdah.value(connection, "show transaction_read_only"));
    connection.commit();
    connection.setAutoCommit(true);
    assertEquals("off", Howdah.value(connection, "show transaction_read_only"));
    assertEquals("repeatable read", Howdah.value(connection, "show transaction_isolation"));
    assertEquals("22023", Howdah.state(() -> connection.setTransactionIsolation(77)));
  }

  @Test
  void aCachedStatementHealsAtTheBeginningOfATransaction() throws SQLException {
    Howdah.execute(connection, "create table heals (a int)");
    try (Connection other = Howdah.connect();
        PreparedStatement select = connection.prepareStatement("select * from heals")) {
      connection.setAutoCommit(false);
      select.executeQuery();
      connection.commit();
      Howdah.execute(other, "alter table heals add b int");
      try (ResultSet rows = select.executeQuery()) {
        assertEquals(2, rows.getMetaData().getColumnCount());
      }
      assertTrue(Howdah.core(connection).inTransaction());
      connection.commit();
      Howdah.execute(other, "drop table heals");
    }
  }

  @Test
  void aStatementThatMustBeAloneRunsWithAutoCommit() throws SQLException {
    connection.setReadOnly(false);
    connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    Howdah.execute(connection, "vacuum pg_class");
    connection.setAutoCommit(false);
    assertEquals("25001", Howdah.state(() -> Howdah.execute(connection, "vacuum pg_class")));
    connection.rollback();
  }

  @Test
  void transactionsInSqlAreUnderstood() throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("begin");
      statement.execute("insert into t values (1)");
      statement.execute("rollback");
      connection.setAutoCommit(false);
      statement.execute("insert into t values (2)");
      statement.execute("commit");
      statement.execute("insert into t values (3)");
      connection.rollback();
      assertEquals(2L, Howdah.value(connection, "select sum(a) from t"));
      statement.execute("insert into t values (4); insert into t values (5)");
      connection.rollback();
      assertEquals(2L, Howdah.value(connection, "select sum(a) from t"));
    }
  }
}
