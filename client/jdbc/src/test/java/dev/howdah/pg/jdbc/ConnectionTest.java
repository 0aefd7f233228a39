package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.Bound;
import dev.howdah.pg.Config;
import dev.howdah.pg.PrivateServer;
import dev.howdah.pg.ServerException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLIntegrityConstraintViolationException;
import java.sql.SQLInvalidAuthorizationSpecException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLSyntaxErrorException;
import java.sql.SQLTransactionRollbackException;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

@Timeout(60)
class ConnectionTest {
  @Test
  void theDriverIsFoundByItsAddress() throws SQLException {
    assertInstanceOf(HowdahDriver.class, DriverManager.getDriver("jdbc:howdah:"));
    assertNull(new HowdahDriver().connect("jdbc:other://x", new Properties()));
    String bare =
        "jdbc:howdah://127.0.0.1:"
            + PrivateServer.shared().port()
            + "/postgres?application_name=addressed";
    try (Connection connection = DriverManager.getConnection(bare, "tester", "unused")) {
      assertEquals("tester", Howdah.value(connection, "select current_user::text"));
      assertEquals("addressed", connection.getClientInfo("ApplicationName"));
      assertTrue(connection.getMetaData().getURL().startsWith("jdbc:howdah://tester@127.0.0.1:"));
    }
    Properties properties = new Properties();
    properties.setProperty("user", "tester");
    properties.setProperty("ApplicationName", "told");
    try (Connection connection = DriverManager.getConnection(bare, properties)) {
      assertEquals("told", connection.getClientInfo().getProperty("ApplicationName"));
    }
    properties.setProperty("sslmod", "require");
    SQLException error =
        assertThrows(SQLException.class, () -> DriverManager.getConnection(bare, properties));
    assertTrue(error.getMessage().contains("sslmod"), error.getMessage());
    assertEquals(
        "08001", Howdah.state(() -> DriverManager.getConnection("jdbc:howdah://x:99999/y")));
  }

  @Test
  void aDataSourceIsConfiguredBySettersOrAConfig() throws SQLException {
    HowdahDataSource source = new HowdahDataSource();
    source.setServerName("127.0.0.1");
    source.setPortNumber(PrivateServer.shared().port());
    source.setDatabaseName("postgres");
    source.setUser("tester");
    source.setApplicationName("bean");
    source.setLoginTimeout(7);
    assertEquals(7, source.getLoginTimeout());
    try (Connection connection = source.getConnection()) {
      assertEquals("bean", connection.getClientInfo("ApplicationName"));
    }
    assertEquals("28000", Howdah.state(() -> source.getConnection("nobody_here", "x")));
    source.setUrl(Howdah.url());
    source.setSetting("nonsense", "1");
    assertEquals("08001", Howdah.state(source::getConnection));
    DataSource configured = new HowdahDataSource(PrivateServer.shared().config().build());
    try (Connection connection = configured.getConnection()) {
      assertEquals("postgres", connection.getCatalog());
    }
    assertNotNull(configured.unwrap(Config.class));
    assertThrows(
        IllegalStateException.class,
        () -> new HowdahDataSource(PrivateServer.shared().config().build()).setUser("x"));
  }

  @Test
  void aValidityCheckIsOneRoundTripAndEndsNothing() throws SQLException {
    Connection connection = Howdah.connect();
    assertTrue(connection.isValid(1));
    assertTrue(connection.isValid(1));
    connection.setAutoCommit(false);
    long before = Howdah.core(connection).writes();
    assertTrue(connection.isValid(1));
    assertEquals(1, Howdah.core(connection).writes() - before);
    assertFalse(Howdah.core(connection).inTransaction());
    assertEquals("22023", Howdah.state(() -> connection.isValid(-1)));
    connection.close();
    assertFalse(connection.isValid(1));
    assertTrue(connection.isClosed());
    connection.close();
    assertEquals("08003", Howdah.state(connection::createStatement));
  }

  /**
   * Ends the backend of a connection and returns when it is gone, or at once if the next statement
   * is to find it dying.
   */
  private static void terminate(Connection connection, boolean gone) throws SQLException {
    int process = Howdah.core(connection).process();
    try (Connection killer = Howdah.connect()) {
      Howdah.value(killer, "select pg_terminate_backend(" + process + ")");
      while (gone
          && !Long.valueOf(0)
              .equals(
                  Howdah.value(
                      killer, "select count(*) from pg_stat_activity where pid = " + process))) {
        Thread.onSpinWait();
      }
    }
  }

  private static void recoverable(Connection connection, Executable action) throws SQLException {
    SQLException error = assertThrows(SQLException.class, action);
    assertInstanceOf(SQLRecoverableException.class, error, error.getSQLState());
    assertEquals("57P01", error.getSQLState());
    assertTrue(connection.isClosed());
    assertFalse(connection.isValid(1));
  }

  @Test
  void aTerminatedBackendIsNoticed() throws SQLException {
    for (boolean gone : new boolean[] {true, false}) {
      for (int uses : new int[] {0, 1, 2, 8}) {
        try (Connection connection = Howdah.connect();
            PreparedStatement statement = connection.prepareStatement("select ?::int4")) {
          statement.setInt(1, uses);
          for (int i = 0; i < uses; i++) {
            statement.executeQuery().close();
          }
          terminate(connection, gone);
          recoverable(connection, statement::executeQuery);
        }
      }
    }
  }

  @Test
  void aTerminatedBackendIsNoticedByWhateverComesNext() throws SQLException {
    List<Function<Connection, Executable>> next =
        List.of(
            connection -> () -> Howdah.value(connection, "select 1"),
            connection -> () -> Howdah.execute(connection, "set application_name to 'x'"),
            connection -> connection::commit,
            connection -> connection::rollback,
            connection -> connection::setSavepoint,
            connection -> connection::getSchema);
    for (Function<Connection, Executable> action : next) {
      try (Connection connection = Howdah.connect()) {
        connection.setAutoCommit(false);
        Howdah.value(connection, "select 1");
        terminate(connection, true);
        recoverable(connection, action.apply(connection));
      }
    }
  }

  @Test
  @Tag("timing")
  void aNetworkThatIsSilentIsGivenUpInTime() throws Exception {
    try (Gap gap = new Gap()) {
      try (Connection first = gap.connect("");
          Connection second = gap.connect("")) {
        assertTrue(first.isValid(5));
        second.setNetworkTimeout(Runnable::run, 300);
        assertEquals(300, second.getNetworkTimeout());
        assertEquals(1, Howdah.value(second, "select 1"));
        gap.silence();
        long start = System.nanoTime();
        assertFalse(first.isValid(1));
        assertTrue(first.isClosed());
        SQLException error =
            assertThrows(SQLException.class, () -> Howdah.value(second, "select 1"));
        assertTrue(error.getSQLState().startsWith("08"), error.toString());
        assertTrue(second.isClosed());
        Bound.SILENT_NETWORK.checkSince(start);
      }
    }
  }

  @Test
  void aLongStatementEndsWhenAnotherThreadAborts() throws Exception {
    Connection connection = Howdah.connect();
    CompletableFuture<SQLException> ended =
        CompletableFuture.supplyAsync(
            () ->
                assertThrows(
                    SQLException.class, () -> Howdah.value(connection, "select pg_sleep(30)")));
    try (Connection watcher = Howdah.connect()) {
      String asleep =
          "select count(*) from pg_stat_activity where pid = "
              + Howdah.core(connection).process()
              + " and wait_event = 'PgSleep'";
      while (!Long.valueOf(1).equals(Howdah.value(watcher, asleep))) {
        Thread.onSpinWait();
      }
    }
    connection.abort(Runnable::run);
    assertTrue(ended.get().getSQLState().startsWith("08"));
    assertTrue(connection.isClosed());
    assertEquals("22023", Howdah.state(() -> connection.abort(null)));
  }

  @Test
  void threadsMayShareAConnection() throws Exception {
    try (Connection connection = Howdah.connect()) {
      CompletableFuture<?>[] threads = new CompletableFuture<?>[8];
      for (int t = 0; t < threads.length; t++) {
        int number = t;
        threads[t] =
            CompletableFuture.runAsync(
                () -> {
                  try (var statement = connection.prepareStatement("select ? + ?")) {
                    for (int i = 0; i < 200; i++) {
                      statement.setInt(1, number);
                      statement.setInt(2, i);
                      try (var rows = statement.executeQuery()) {
                        rows.next();
                        assertEquals(number + i, rows.getInt(1));
                      }
                    }
                  } catch (SQLException e) {
                    throw new AssertionError(e);
                  }
                });
      }
      CompletableFuture.allOf(threads).get();
    }
  }

  @Test
  void errorsAreOfTheClassesThatJdbcHasForThem() throws SQLException {
    try (Connection connection = Howdah.connect()) {
      Howdah.execute(
          connection, "create temp table t (a int primary key)", "insert into t values (1)");
      SQLException duplicate =
          assertThrows(
              SQLIntegrityConstraintViolationException.class,
              () -> Howdah.execute(connection, "insert into t values (1)"));
      assertEquals(
          "t_pkey",
          assertInstanceOf(ServerException.class, duplicate.getCause()).server().constraint());
      assertThrows(SQLSyntaxErrorException.class, () -> Howdah.execute(connection, "selec"));
      assertThrows(java.sql.SQLDataException.class, () -> Howdah.execute(connection, "select 1/0"));
      assertThrows(
          SQLTransactionRollbackException.class,
          () ->
              Howdah.execute(
                  connection, "do $$ begin raise exception using errcode = '40001'; end $$"));
      assertThrows(SQLFeatureNotSupportedException.class, connection::createSQLXML);
      assertThrows(
          SQLFeatureNotSupportedException.class,
          () -> Howdah.execute(connection, "copy t from stdin"));
      assertThrows(
          SQLFeatureNotSupportedException.class,
          () -> Howdah.execute(connection, "copy t to stdout"));
      assertEquals(1, Howdah.value(connection, "select a from t"));
      assertThrows(
          java.sql.SQLTransientConnectionException.class,
          () ->
              Howdah.execute(
                  connection, "do $$ begin raise exception using errcode = '53300'; end $$"));
    }
    assertThrows(
        SQLInvalidAuthorizationSpecException.class,
        () -> DriverManager.getConnection(Howdah.url(), "nobody_here", "x"));
    assertThrows(
        SQLNonTransientConnectionException.class,
        () -> DriverManager.getConnection("jdbc:howdah://127.0.0.1:1/x"));
    assertThrows(
        SQLSyntaxErrorException.class,
        () -> Howdah.execute(Howdah.connect(), "select * from nowhere"));
  }

  @Test
  void schemaAndNamesAreSet() throws SQLException {
    try (Connection connection = Howdah.connect()) {
      assertEquals("public", connection.getSchema());
      Howdah.execute(connection, "create schema if not exists \"odd \"\" name\"");
      connection.setSchema("odd \" name");
      assertEquals("odd \" name", connection.getSchema());
      connection.setClientInfo("ApplicationName", "named");
      assertEquals("named", Howdah.value(connection, "show application_name"));
      assertThrows(
          java.sql.SQLClientInfoException.class, () -> connection.setClientInfo("Other", "x"));
      assertSame(connection, connection.unwrap(Connection.class));
      assertTrue(connection.isWrapperFor(dev.howdah.pg.Connection.class));
      assertEquals("22023", Howdah.state(() -> connection.unwrap(Integer.class)));
      assertEquals("select $1, a ? b", connection.nativeSQL("select ?, a ?? b"));
    }
  }
}
