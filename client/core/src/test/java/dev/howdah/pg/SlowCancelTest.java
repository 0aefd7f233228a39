package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The server's first process takes a cancel and signals the one that runs the query. Here it is
 * stopped, which is what a busy machine does to it: the signal comes late, and must not hit the
 * next query.
 */
class SlowCancelTest {
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private Connection other;
  private int first;

  @BeforeEach
  void connect() {
    other = PrivateServer.connect();
    first =
        other
            .query("select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int")
            .get(0)
            .getInt(0);
  }

  @AfterEach
  void close() throws IOException, InterruptedException {
    signal("CONT");
    other.close();
    threads.shutdownNow();
  }

  private void signal(String name) throws IOException, InterruptedException {
    assertEquals(
        0, new ProcessBuilder("sh", "-c", "kill -" + name + " " + first).start().waitFor());
  }

  private Future<?> sleeping(Connection connection) {
    Future<?> query = threads.submit(() -> connection.query("select pg_sleep(100)"));
    while (other
        .query(
            "select 1 from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'",
            connection.process())
        .isEmpty()) {
      Thread.onSpinWait();
    }
    return query;
  }

  @Test
  void aThreadThatIsInterruptedWaitsForTheSignalAllTheSame() throws Exception {
    try (Connection connection = PrivateServer.connect()) {
      Future<?> query = sleeping(connection);
      signal("STOP");
      Future<Boolean> cancel =
          threads.submit(
              () -> {
                Thread.currentThread().interrupt();
                assertTrue(connection.cancel());
                return Thread.interrupted();
              });
      assertThrows(TimeoutException.class, () -> cancel.get(500, TimeUnit.MILLISECONDS));
      signal("CONT");
      assertTrue(cancel.get(), "the thread is still interrupted");
      Throwable end = assertThrows(ExecutionException.class, query::get).getCause();
      assertEquals("57014", assertInstanceOf(PgException.class, end).sqlState());
      assertEquals(1, connection.query("select 1").size());
    }
  }

  @Test
  void aSignalThatMayStillComeHitsNoOtherQuery() throws Exception {
    try (Connection connection =
        Connection.open(PrivateServer.shared().config().set("cancel_timeout", "0.3").build())) {
      Future<?> query = sleeping(connection);
      signal("STOP");
      connection.cancel();
      assertFalse(connection.isOpen());
      Throwable end = assertThrows(ExecutionException.class, query::get).getCause();
      assertTrue(
          assertInstanceOf(ConnectionException.class, end).getMessage().contains("cancel_timeout"),
          end.getMessage());
    }
  }
}
