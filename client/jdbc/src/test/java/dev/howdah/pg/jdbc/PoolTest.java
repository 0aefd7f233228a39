package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.howdah.pg.PrivateServer;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLRecoverableException;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** HikariCP on this driver. */
@Timeout(90)
class PoolTest {
  private static final Logger LEAKS = Logger.getLogger("com.zaxxer.hikari.pool.ProxyLeakTask");

  private static HikariConfig config(int size) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(Howdah.url());
    config.setMaximumPoolSize(size);
    config.setConnectionTimeout(5_000);
    return config;
  }

  @Test
  void threadsShareAPool() throws Exception {
    AtomicLong sum = new AtomicLong();
    try (HikariDataSource pool = new HikariDataSource(config(4))) {
      CompletableFuture<?>[] threads = new CompletableFuture<?>[16];
      for (int t = 0; t < threads.length; t++) {
        int number = t;
        threads[t] =
            CompletableFuture.runAsync(
                () -> {
                  for (int i = 0; i < 100; i++) {
                    try (Connection connection = pool.getConnection();
                        PreparedStatement statement =
                            connection.prepareStatement("select ?::int4")) {
                      statement.setInt(1, number);
                      try (ResultSet rows = statement.executeQuery()) {
                        rows.next();
                        sum.addAndGet(rows.getInt(1));
                      }
                    } catch (SQLException e) {
                      throw new AssertionError(e);
                    }
                  }
                });
      }
      CompletableFuture.allOf(threads).get();
      assertEquals(100L * 15 * 16 / 2, sum.get());
      assertTrue(pool.getHikariPoolMXBean().getTotalConnections() <= 4);
    }
  }

  @Test
  void aBrokenConnectionIsReplaced() throws Exception {
    HikariConfig config = config(1);
    try (HikariDataSource pool = new HikariDataSource(config);
        Connection killer = Howdah.connect()) {
      int first = process(pool);
      Howdah.value(killer, "select pg_terminate_backend(" + first + ")");
      while (!Long.valueOf(0)
          .equals(
              Howdah.value(killer, "select count(*) from pg_stat_activity where pid = " + first))) {
        Thread.onSpinWait();
      }
      // Within half a second of its last use HikariCP trusts a connection, so the first statement
      // may be the one that finds out.
      try {
        assertNotEquals(first, process(pool));
      } catch (SQLRecoverableException e) {
        assertEquals("57P01", e.getSQLState());
        assertNotEquals(first, process(pool));
      }
    }
  }

  @Test
  void aLentConnectionWhoseBackendIsTerminatedFailsRecoverably() throws Exception {
    for (int uses : new int[] {0, 1, 2, 8}) {
      try (HikariDataSource pool = new HikariDataSource(config(1));
          Connection killer = Howdah.connect()) {
        int process;
        try (Connection connection = pool.getConnection();
            PreparedStatement statement = connection.prepareStatement("select 1")) {
          for (int i = 0; i < uses; i++) {
            statement.executeQuery().close();
          }
          process = Howdah.core(connection).process();
          Howdah.value(killer, "select pg_terminate_backend(" + process + ")");
          assertEquals(
              "57P01",
              assertThrows(SQLRecoverableException.class, statement::executeQuery).getSQLState());
        }
        assertNotEquals(process, process(pool), "the pool has another connection");
      }
    }
  }

  @Test
  void aRefusedFeatureLeavesTheTransactionAsItIs() throws Exception {
    try (HikariDataSource pool = new HikariDataSource(config(1));
        Connection connection = pool.getConnection()) {
      connection.setAutoCommit(false);
      Object transaction = Howdah.value(connection, "select txid_current()");
      assertThrows(SQLFeatureNotSupportedException.class, connection::createSQLXML);
      assertThrows(
          SQLFeatureNotSupportedException.class, () -> connection.createStruct("t", new Object[0]));
      assertEquals(transaction, Howdah.value(connection, "select txid_current()"));
      connection.commit();
    }
  }

  @Test
  void anIdleBrokenConnectionIsFoundBeforeItIsLent() throws Exception {
    HikariConfig config = config(1);
    try (HikariDataSource pool = new HikariDataSource(config);
        Connection killer = Howdah.connect()) {
      int first = process(pool);
      long used = System.nanoTime();
      Howdah.value(killer, "select pg_terminate_backend(" + first + ")");
      while (System.nanoTime() - used < 700_000_000L) {
        Howdah.value(killer, "select pg_sleep(0.05)");
      }
      assertNotEquals(first, process(pool));
    }
  }

  private static int process(HikariDataSource pool) throws SQLException {
    try (Connection connection = pool.getConnection()) {
      Howdah.value(connection, "select 1");
      return Howdah.core(connection).process();
    }
  }

  @Test
  void aConnectionComesBackAsItWasLent() throws SQLException {
    HikariConfig config = config(1);
    config.setAutoCommit(false);
    try (HikariDataSource pool = new HikariDataSource(config)) {
      try (Connection connection = pool.getConnection()) {
        Howdah.execute(connection, "create temp table t (a int)");
        connection.commit();
        connection.setReadOnly(true);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        connection.setNetworkTimeout(Runnable::run, 10_000);
        assertEquals(
            "25006", Howdah.state(() -> Howdah.execute(connection, "create table never (a int)")));
      }
      try (Connection connection = pool.getConnection()) {
        Howdah.execute(connection, "insert into t values (1)");
        assertEquals("read committed", Howdah.value(connection, "show transaction_isolation"));
        assertEquals(0, connection.getNetworkTimeout());
      }
      try (Connection connection = pool.getConnection()) {
        assertEquals(
            0L,
            Howdah.value(connection, "select count(*) from t"),
            "what was not committed is gone");
      }
    }
  }

  @Test
  void borrowingCostsNothingWhileConnectionsAreFresh() throws SQLException {
    try (HikariDataSource pool = new HikariDataSource(config(1))) {
      long before;
      try (Connection connection = pool.getConnection()) {
        Howdah.value(connection, "select 1");
        Howdah.value(connection, "select 1");
        before = Howdah.core(connection).writes();
      }
      try (Connection connection = pool.getConnection()) {
        Howdah.value(connection, "select 1");
        assertEquals(1, Howdah.core(connection).writes() - before);
      }
    }
  }

  /** The first warning of HikariCP's leak detection from now on. */
  private static CompletableFuture<LogRecord> firstLeak() {
    CompletableFuture<LogRecord> leak = new CompletableFuture<>();
    LEAKS.setLevel(Level.WARNING);
    LEAKS.addHandler(
        new Handler() {
          @Override
          public void publish(LogRecord entry) {
            if (leak.complete(entry)) {
              LEAKS.removeHandler(this);
            }
          }

          @Override
          public void flush() {
            // Nothing is kept back.
          }

          @Override
          public void close() {
            // Nothing is open.
          }
        });
    return leak;
  }

  @Test
  void aLeakIsReportedAndTheSourceTakesProperties() throws Exception {
    CompletableFuture<LogRecord> leak = firstLeak();
    HikariConfig config = new HikariConfig();
    config.setDataSourceClassName(HowdahDataSource.class.getName());
    config.addDataSourceProperty("serverName", "127.0.0.1");
    config.addDataSourceProperty("portNumber", PrivateServer.shared().port());
    config.addDataSourceProperty("databaseName", "postgres");
    config.addDataSourceProperty("user", "tester");
    config.addDataSourceProperty("applicationName", "leaky");
    config.setMaximumPoolSize(1);
    config.setConnectionTimeout(500);
    config.setLeakDetectionThreshold(2_000);
    try (HikariDataSource pool = new HikariDataSource(config)) {
      Connection leaked = pool.getConnection();
      assertEquals("leaky", Howdah.value(leaked, "show application_name"));
      assertThrows(java.sql.SQLTransientConnectionException.class, pool::getConnection);
      LogRecord warning = leak.get(30, TimeUnit.SECONDS);
      assertTrue(warning.getMessage().contains("leak detection triggered"), warning.getMessage());
      assertTrue(
          warning.getMessage().contains(leaked.unwrap(JdbcConnection.class).toString()),
          warning.getMessage());
      assertTrue(
          Arrays.stream(warning.getThrown().getStackTrace())
              .anyMatch(at -> at.getClassName().equals(PoolTest.class.getName())));
      // What HikariCP does with a leak: it evicts, which aborts the connection from another thread.
      pool.evictConnection(leaked);
      try (Connection next = pool.getConnection()) {
        assertTrue(next.isValid(1));
      }
    }
  }
}
