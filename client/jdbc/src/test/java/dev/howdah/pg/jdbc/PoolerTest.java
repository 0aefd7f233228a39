package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.howdah.pg.PgBouncer;
import dev.howdah.pg.PrivateServer;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/**
 * HikariCP on this driver behind PgBouncer in transaction mode, where each transaction may meet
 * another connection of the server.
 */
@Timeout(120)
class PoolerTest {
  private static final int BACKENDS = 3;
  private static final int SIZE = 4;
  private static final int THREADS = 8;
  private static final int ROUNDS = 60;

  /** Work with a connection of the pool. */
  private interface Work {
    void run(Connection connection, int number) throws SQLException;
  }

  private DynamicTest behind(
      String name,
      Function<PrivateServer, PgBouncer> start,
      boolean loses,
      boolean autoCommit,
      Work work) {
    return DynamicTest.dynamicTest(
        name,
        () -> {
          assumeTrue(!name.contains("newer") || PgBouncer.canKeepStatements(name));
          try (PgBouncer pooler = start.apply(PrivateServer.shared())) {
            pooler.spread(BACKENDS);
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl("jdbc:howdah://tester@127.0.0.1:" + pooler.port() + "/postgres");
            config.setMaximumPoolSize(SIZE);
            config.setAutoCommit(autoCommit);
            try (HikariDataSource pool = new HikariDataSource(config);
                Connection direct = Howdah.connect()) {
              Howdah.execute(
                  direct,
                  "drop table if exists behind",
                  "create table behind (id int primary key generated always as identity, n int not"
                      + " null)");
              int lost = runInThreads(pool, work);
              // A connection learns once that its statements do not stay, and sends none that has
              // to from then on.
              assertTrue(
                  lost <= (loses ? SIZE : 0),
                  lost + " transactions met a connection that did not know their statement");
            }
          }
        });
  }

  /**
   * Runs the work many times in threads, again where the server had lost a statement; returns how
   * often it had.
   */
  private static int runInThreads(HikariDataSource pool, Work work) throws Exception {
    AtomicInteger lost = new AtomicInteger();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    List<CompletableFuture<Void>> all = new ArrayList<>();
    for (int t = 0; t < THREADS; t++) {
      int thread = t;
      all.add(
          CompletableFuture.runAsync(
              () -> {
                for (int i = 0; i < ROUNDS; i++) {
                  untilKnown(pool, work, thread * ROUNDS + i, lost);
                }
              },
              (Executor) threads));
    }
    try {
      CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).get();
    } finally {
      threads.shutdown();
    }
    return lost.get();
  }

  private static void untilKnown(HikariDataSource pool, Work work, int number, AtomicInteger lost) {
    while (true) {
      try (Connection connection = pool.getConnection()) {
        work.run(connection, number);
        return;
      } catch (SQLException e) {
        if (!"26000".equals(e.getSQLState())) {
          throw new AssertionError(e);
        }
        lost.incrementAndGet();
      }
    }
  }

  /**
   * Statements that are a transaction each are sent again by the client where one is lost; a
   * transaction of several fails.
   */
  private List<DynamicTest> behindEach(boolean autoCommit, boolean several, Work work) {
    return List.of(
        behind(
            "a pooler that keeps no statements",
            PgBouncer::keepingNoStatements,
            several,
            autoCommit,
            work),
        behind(
            "a newer pooler that keeps no statements",
            PgBouncer::newerKeepingNoStatements,
            several,
            autoCommit,
            work),
        behind(
            "a newer pooler that keeps statements",
            PgBouncer::keepingStatements,
            false,
            autoCommit,
            work));
  }

  private static int number(Connection connection, String sql, int parameter) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.setInt(1, parameter);
      try (ResultSet rows = statement.executeQuery()) {
        assertTrue(rows.next());
        return rows.getInt(1);
      }
    }
  }

  @TestFactory
  List<DynamicTest> preparedStatementsRun() {
    return behindEach(
        true,
        false,
        (connection, number) -> {
          assertEquals(number, number(connection, "select ?::int", number));
          assertEquals(
              number + 1,
              number(connection, "select ? + " + (number % 5) + " + 1 - " + (number % 5), number));
        });
  }

  @TestFactory
  List<DynamicTest> transactionsAreKeptTogether() {
    return behindEach(
        false,
        true,
        (connection, number) -> {
          int process = number(connection, "select pg_backend_pid() + 0 * ?", number);
          try (PreparedStatement insert =
              connection.prepareStatement(
                  "insert into behind (n) values (?)", Statement.RETURN_GENERATED_KEYS)) {
            insert.setInt(1, number);
            assertEquals(1, insert.executeUpdate());
            try (ResultSet keys = insert.getGeneratedKeys()) {
              assertTrue(keys.next());
              assertEquals(
                  number,
                  number(connection, "select n from behind where id = ?", keys.getInt("id")));
            }
          }
          assertEquals(process, number(connection, "select pg_backend_pid() + 0 * ?", number));
          if (number % 2 == 0) {
            connection.commit();
          } else {
            connection.rollback();
          }
        });
  }

  @TestFactory
  List<DynamicTest> batchesRunWholly() {
    return behindEach(
        true,
        true,
        (connection, number) -> {
          try (PreparedStatement insert =
              connection.prepareStatement("insert into behind (n) values (?)")) {
            for (int i = 0; i < 20; i++) {
              insert.setInt(1, number);
              insert.addBatch();
            }
            assertEquals(20, insert.executeBatch().length);
          }
          assertEquals(20, number(connection, "select count(*) from behind where n = ?", number));
        });
  }

  @TestFactory
  List<DynamicTest> largeResultsAreFetchedThroughAPortal() {
    return behindEach(
        false,
        true,
        (connection, number) -> {
          try (PreparedStatement statement =
              connection.prepareStatement("select * from generate_series(1, ?)")) {
            statement.setFetchSize(50);
            statement.setInt(1, 120);
            int count = 0;
            try (ResultSet rows = statement.executeQuery()) {
              while (rows.next()) {
                assertEquals(++count, rows.getInt(1));
              }
            }
            assertEquals(120, count);
          }
          connection.commit();
        });
  }
}
