package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.Bound;
import dev.howdah.pg.Cursor;
import dev.howdah.pg.Options;
import java.io.ByteArrayInputStream;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Nothing waits for ever for a server that says nothing: whatever asks ends with setNetworkTimeout,
 * and the connection with it.
 *
 * <p>The limit of a cancel is so long that it hangs; where the network's holds, nobody waits for
 * it.
 */
class FrozenNetworkTest {
  private static final String PATIENT = "cancel_timeout=1000";
  private static final int LIMIT = 200;
  private static final ExecutorService THREADS = Executors.newFixedThreadPool(16);

  @BeforeAll
  static void makeTable() throws SQLException {
    try (Connection connection = Howdah.connect()) {
      Howdah.execute(connection, Asking.TABLE);
    }
  }

  @AfterAll
  static void endThreads() {
    THREADS.shutdownNow();
  }

  /** What is done on a network that is frozen, with what was made before. */
  private interface Action<T> {
    Object on(T made) throws Exception;
  }

  private interface Making<T> {
    T of(Connection connection) throws SQLException;
  }

  /** The result of work that must end. */
  private static <T> T ended(CharSequence what, Future<T> work) throws Exception {
    try {
      return work.get(Bound.HANGS.toSeconds(), TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new AssertionError(what + " hangs");
    } catch (ExecutionException e) {
      throw new AssertionError(what + ": " + e.getCause(), e.getCause());
    }
  }

  private static void begin(Connection connection) throws SQLException {
    connection.setAutoCommit(false);
    Howdah.value(connection, "select 1");
  }

  private static void limit(Connection connection) throws SQLException {
    connection.setNetworkTimeout(Runnable::run, LIMIT);
  }

  /** Whether an error says that the connection is lost, or the answer that it is not valid. */
  private static boolean isLoss(Object outcome) {
    return outcome instanceof SQLException error
        ? error.getSQLState() != null && error.getSQLState().startsWith("08")
        : Boolean.FALSE.equals(outcome);
  }

  /**
   * Makes something in a transaction, freezes the network and does something with it: null if that
   * ended as it must, else what was wrong.
   */
  private static <T> String frozen(Making<T> making, Action<T> action) throws Exception {
    try (Gap gap = new Gap();
        Connection connection = gap.connect(PATIENT)) {
      begin(connection);
      T made = making.of(connection);
      limit(connection);
      gap.silence();
      Object outcome;
      try {
        outcome = action.on(made);
      } catch (SQLException e) {
        outcome = e;
      }
      return isLoss(outcome) && connection.isClosed()
          ? null
          : outcome + (connection.isClosed() ? ", closed" : ", not closed");
    }
  }

  private static void check(Map<String, Callable<String>> actions) throws Exception {
    Map<String, Future<String>> running = new LinkedHashMap<>();
    actions.forEach((name, action) -> running.put(name, THREADS.submit(action)));
    List<String> wrong = new ArrayList<>();
    for (Map.Entry<String, Future<String>> each : running.entrySet()) {
      try {
        String error = ended(each.getKey(), each.getValue());
        if (error != null) {
          wrong.add(each.getKey() + ": " + error);
        }
      } catch (AssertionError e) {
        wrong.add(e.getMessage());
      }
    }
    assertEquals(List.of(), wrong);
  }

  @Test
  void everyMethodStandsInTheTable() {
    List<String> unlisted = new ArrayList<>();
    for (Asking type : Asking.values()) {
      for (Method method : type.methods()) {
        if (type.asks(method) == null) {
          unlisted.add(type + "." + Asking.signature(method));
        }
      }
      unlisted.addAll(type.strangers());
    }
    assertEquals(List.of(), unlisted);
  }

  @Test
  void theTableSaysThatWhatEndsATransactionAsks() throws NoSuchMethodException {
    assertTrue(Asking.CONNECTION.asks(Connection.class.getMethod("commit")));
    assertTrue(Asking.CONNECTION.asks(Connection.class.getMethod("rollback")));
    assertTrue(Asking.CONNECTION.asks(Connection.class.getMethod("setAutoCommit", boolean.class)));
    assertTrue(Asking.PREPARED_STATEMENT.asks(PreparedStatement.class.getMethod("getMetaData")));
    assertTrue(Asking.RESULT_SET.asks(ResultSet.class.getMethod("next")));
  }

  private record Subject(Object object, Savepoint savepoint) {}

  @Test
  void whatAsksEndsAtTheLimitAndClosesTheConnection() throws Exception {
    Map<String, Callable<String>> actions = new LinkedHashMap<>();
    for (Asking type : Asking.values()) {
      for (Method method : type.methods()) {
        if (Boolean.TRUE.equals(type.asks(method))) {
          actions.put(
              type + "." + Asking.signature(method),
              () ->
                  frozen(
                      connection -> {
                        Savepoint savepoint = connection.setSavepoint();
                        return new Subject(type.of(connection), savepoint);
                      },
                      subject -> type.call(subject.object(), method, subject.savepoint())));
        }
      }
    }
    check(actions);
  }

  @Test
  void whatAsksNothingGoesOn() throws Exception {
    for (Asking type : Asking.values()) {
      StringBuilder done = new StringBuilder(type.toString());
      Future<?> all =
          THREADS.submit(
              () -> {
                callAllThatAskNothing(type, done);
                return null;
              });
      ended(done, all);
    }
  }

  private static void callAllThatAskNothing(Asking type, StringBuilder done) throws Exception {
    try (Gap gap = new Gap();
        Connection connection = gap.connect(PATIENT)) {
      begin(connection);
      Savepoint savepoint = connection.setSavepoint();
      Object object = type.of(connection);
      limit(connection);
      gap.silence();
      for (Method method : type.methods()) {
        if (Boolean.FALSE.equals(type.asks(method))) {
          done.append(' ').append(Asking.signature(method));
          boolean ends = type == Asking.CONNECTION && method.getName().matches("close|abort");
          try {
            type.call(object, method, savepoint);
          } catch (SQLException e) {
            assertFalse(isLoss(e) && !connection.isClosed(), () -> method + ": " + e);
          }
          assertTrue(ends || !connection.isClosed(), () -> method + " has closed the connection");
        }
      }
    }
  }

  @Test
  void whatNeedsPreparationEndsToo() throws Exception {
    Map<String, Callable<String>> actions = new LinkedHashMap<>();
    actions.put(
        "a changed row",
        () ->
            frozen(
                connection -> {
                  ResultSet rows = (ResultSet) Asking.UPDATABLE_RESULT_SET.of(connection);
                  rows.updateString(2, "y");
                  return rows;
                },
                rows -> {
                  rows.updateRow();
                  return null;
                }));
    actions.put(
        "a new row",
        () ->
            frozen(
                connection -> {
                  ResultSet rows = (ResultSet) Asking.UPDATABLE_RESULT_SET.of(connection);
                  rows.moveToInsertRow();
                  rows.updateInt(1, 2);
                  return rows;
                },
                rows -> {
                  rows.insertRow();
                  return null;
                }));
    actions.put(
        "the columns of a table",
        () ->
            frozen(
                connection -> ((ResultSet) Asking.RESULT_SET.of(connection)).getMetaData(),
                columns -> columns.isNullable(1)));
    actions.put(
        "an array's rows",
        () ->
            frozen(
                connection -> connection.createArrayOf("int4", new Object[] {1}),
                array -> array.getResultSet()));
    actions.put("a batch of prepared statements", () -> frozen(this::batch, this::executeBatch));
    actions.put(
        "a batch that is its own transaction",
        () ->
            frozen(
                connection -> {
                  connection.commit();
                  connection.setAutoCommit(true);
                  return batch(connection);
                },
                this::executeBatch));
    check(actions);
  }

  private PreparedStatement batch(Connection connection) throws SQLException {
    PreparedStatement statement = connection.prepareStatement("select ?::int4");
    for (int i = 0; i < 3; i++) {
      statement.setInt(1, i);
      statement.addBatch();
    }
    return statement;
  }

  private Object executeBatch(Statement statement) throws SQLException {
    return statement.executeBatch();
  }

  /** A connection's own errors, for those of the client below. */
  private static Action<dev.howdah.pg.Connection> translated(
      Action<dev.howdah.pg.Connection> action) {
    return core ->
        SqlErrors.translated(
            () -> {
              try {
                return action.on(core);
              } catch (RuntimeException | SQLException e) {
                throw e;
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            });
  }

  @Test
  void theClientsOwnConnectionHasTheLimit() throws Exception {
    Map<String, Action<dev.howdah.pg.Connection>> actions = new LinkedHashMap<>();
    actions.put("query", core -> core.query("select 1"));
    actions.put(
        "commit",
        core -> {
          core.commit();
          return null;
        });
    actions.put(
        "cursor",
        core -> {
          try (Cursor cursor = core.cursor("select 1")) {
            return cursor.hasNext();
          }
        });
    actions.put(
        "pipeline",
        core -> {
          try (var pipeline = core.pipeline()) {
            return pipeline.query("select 1").get();
          }
        });
    actions.put(
        "copy in",
        core ->
            core.copyIn(
                Options.DEFAULT, "copy frozen from stdin", new ByteArrayInputStream(new byte[0])));
    actions.put(
        "copy out",
        core ->
            core.copyOut(
                Options.DEFAULT, "copy frozen to stdout", OutputStream.nullOutputStream()));
    actions.put(
        "listen",
        core -> {
          core.listen("frozen");
          return null;
        });
    Map<String, Callable<String>> frozen = new LinkedHashMap<>();
    actions.forEach(
        (name, action) ->
            frozen.put(name, () -> frozen(FrozenNetworkTest::core, translated(action))));
    check(frozen);
  }

  private static dev.howdah.pg.Connection core(Connection connection) throws SQLException {
    return Howdah.core(connection);
  }

  @Test
  void aWaitForNotificationsHasALimitOfItsOwn() throws Exception {
    try (Connection connection = Howdah.connect()) {
      connection.setNetworkTimeout(Runnable::run, 1);
      Howdah.core(connection).awaitNotifications(Duration.ofMillis(50));
      assertFalse(connection.isClosed());
    }
  }

  @Test
  void aCommitThatHasNoAnswerSaysThatItsOutcomeIsNotKnown() throws Exception {
    try (Gap gap = new Gap();
        Connection connection = gap.connect(PATIENT)) {
      begin(connection);
      limit(connection);
      gap.silence();
      Future<String> commit = THREADS.submit(() -> Howdah.state(connection::commit));
      assertEquals("08007", ended("commit", commit));
    }
  }

  @Test
  void aPortalThatWasOpenedUnderTheLimitHasIt() throws Exception {
    try (Gap gap = new Gap();
        Connection connection = gap.connect(PATIENT)) {
      connection.setNetworkTimeout(Runnable::run, 60_000);
      begin(connection);
      ResultSet rows = (ResultSet) Asking.RESULT_SET.of(connection);
      limit(connection);
      gap.silence();
      Future<String> next = THREADS.submit(() -> Howdah.state(rows::next));
      assertTrue(ended("next", next).startsWith("08"));
      assertTrue(connection.isClosed());
    }
  }

  /** A statement that sleeps, once it does. */
  private static Future<SQLException> sleeping(Connection connection, Statement statement)
      throws Exception {
    Future<SQLException> sleeping =
        THREADS.submit(
            () ->
                assertThrows(SQLException.class, () -> statement.execute("select pg_sleep(1000)")));
    try (Connection watcher = Howdah.connect()) {
      String asleep =
          "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and pid = "
              + Howdah.core(connection).process();
      while (!Long.valueOf(1).equals(Howdah.value(watcher, asleep))) {
        Thread.onSpinWait();
      }
    }
    return sleeping;
  }

  @Test
  void aLimitThatIsSetDuringAWaitHolds() throws Exception {
    try (Gap gap = new Gap();
        Connection connection = gap.connect(PATIENT);
        Statement statement = connection.createStatement()) {
      Future<SQLException> sleeping = sleeping(connection, statement);
      gap.silence();
      limit(connection);
      assertEquals("08006", ended("the statement", sleeping).getSQLState());
      assertTrue(connection.isClosed());
    }
  }

  @Test
  void aCancelHasTheLimitAndSoHasTheStatement() throws Exception {
    try (Gap gap = new Gap();
        Connection connection = gap.connect(PATIENT);
        Statement statement = connection.createStatement()) {
      Future<SQLException> sleeping = sleeping(connection, statement);
      connection.setNetworkTimeout(Runnable::run, 30_000);
      gap.silence();
      limit(connection);
      Future<?> cancel =
          THREADS.submit(
              () -> {
                statement.cancel();
                return null;
              });
      ended("the cancel", cancel);
      assertEquals("08006", ended("the statement", sleeping).getSQLState());
      assertTrue(connection.isClosed());
    }
  }

  @Test
  void aStatementsOwnLimitMakesItNoLonger() throws Exception {
    Map<String, Callable<String>> actions = new LinkedHashMap<>();
    for (int seconds : new int[] {1, 100}) {
      actions.put(
          "setQueryTimeout(" + seconds + ")",
          () ->
              frozen(
                  connection -> {
                    Statement statement = connection.createStatement();
                    statement.setQueryTimeout(seconds);
                    return statement;
                  },
                  statement -> {
                    statement.getConnection().setNetworkTimeout(Runnable::run, 1_500);
                    return statement.execute("select 1");
                  }));
    }
    check(actions);
  }

  @Test
  void aStatementsOwnLimitCancelsItWhereTheServerIsThere() throws Exception {
    try (Connection connection = Howdah.connect();
        Statement statement = connection.createStatement()) {
      connection.setNetworkTimeout(Runnable::run, 20_000);
      statement.setQueryTimeout(1);
      assertThrows(SQLTimeoutException.class, () -> statement.execute("select pg_sleep(1000)"));
      assertEquals(1, Howdah.value(connection, "select 1"));
    }
  }

  @Test
  void aServerThatTakesNothingHasTheLimit() throws Exception {
    try (Gap gap = new Gap();
        Connection connection = gap.connect(PATIENT);
        PreparedStatement statement = connection.prepareStatement("select length(?::bytea)")) {
      statement.setBytes(1, new byte[16]);
      statement.execute();
      limit(connection);
      gap.deafen();
      statement.setBytes(1, new byte[1 << 24]);
      Future<String> sent = THREADS.submit(() -> Howdah.state(statement::execute));
      assertEquals("08006", ended("sending", sent));
      assertTrue(connection.isClosed());
    }
  }

  @Test
  void aValidityCheckWaitsForAnotherThreadNoLongerThanItsLimit() throws Exception {
    try (Connection connection = Howdah.connect();
        Statement statement = connection.createStatement()) {
      Future<SQLException> sleeping = sleeping(connection, statement);
      assertFalse(ended("isValid", THREADS.submit(() -> connection.isValid(1))));
      assertFalse(connection.isClosed());
      statement.cancel();
      assertEquals("57014", ended("the statement", sleeping).getSQLState());
      assertTrue(connection.isValid(60));
    }
  }

  @Test
  void aValidityCheckHasTheNetworksLimitIfThatIsLess() throws Exception {
    try (Gap gap = new Gap();
        Connection connection = gap.connect(PATIENT)) {
      limit(connection);
      gap.silence();
      assertFalse(ended("isValid", THREADS.submit(() -> connection.isValid(1_000))));
      assertTrue(connection.isClosed());
    }
  }

  @Test
  void rowsThatKeepComingAreNotSilence() throws Exception {
    int limit = 2_000;
    try (Gap gap = new Gap();
        Connection connection = gap.connect(PATIENT);
        PreparedStatement statement = connection.prepareStatement("select repeat('x', 1000)")) {
      // The second time it is kept, and then the server answers once.
      statement.executeQuery().close();
      statement.executeQuery().close();
      connection.setNetworkTimeout(Runnable::run, limit);
      gap.slow(limit / 5);
      long start = System.nanoTime();
      assertTrue(statement.executeQuery().next());
      assertTrue(System.nanoTime() - start > limit * 1_000_000L, "it took longer than the limit");
      assertFalse(connection.isClosed());
    }
  }

  @Test
  @Tag("timing")
  void theLimitIsTheNetworksAlone() throws Exception {
    long start = System.nanoTime();
    aCommitThatHasNoAnswerSaysThatItsOutcomeIsNotKnown();
    aCancelHasTheLimitAndSoHasTheStatement();
    Bound.FROZEN_NETWORK.checkSince(start);
  }
}
