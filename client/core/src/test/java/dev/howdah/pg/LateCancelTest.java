package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A server process that has not come to a query yet ignores a cancel. Here it is stopped while both
 * arrive, which is what a busy machine does to it. The cancel must be sent again, or the query
 * would run on.
 */
class LateCancelTest {
  private static final String SLOW = "select pg_sleep(100)";

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private Connection connection;

  @BeforeEach
  void connect() throws IOException, InterruptedException {
    connection = PrivateServer.connect();
    // Statements that are kept go without a round trip, which a stopped process would not answer.
    for (int i = 0; i < 2; i++) {
      assertThrows(
          PgTimeoutException.class,
          () -> connection.query(Options.DEFAULT.timeout(Duration.ofMillis(1)), SLOW));
    }
    signal("STOP");
  }

  @AfterEach
  void close() throws IOException, InterruptedException {
    signal("CONT");
    connection.close();
    threads.shutdownNow();
  }

  private void signal(String name) throws IOException, InterruptedException {
    assertEquals(
        0,
        new ProcessBuilder("sh", "-c", "kill -" + name + " " + connection.process())
            .start()
            .waitFor());
  }

  /** What the query ended with when the process has gone on. */
  private Throwable end(Future<?> query) throws IOException, InterruptedException {
    // Long enough for what is sent meanwhile to wait in the socket of the process that has stopped.
    Thread.sleep(300);
    signal("CONT");
    Throwable end = assertThrows(ExecutionException.class, query::get).getCause();
    assertTrue(connection.isOpen());
    assertEquals(1, connection.query("select 1").size());
    return end;
  }

  private void awaitCall() {
    while (connection.callsUnderWay() == 0) {
      Thread.onSpinWait();
    }
  }

  @Test
  void aTimeoutEndsTheQuery() throws IOException, InterruptedException {
    Future<?> query =
        threads.submit(
            () -> connection.query(Options.DEFAULT.timeout(Duration.ofMillis(20)), SLOW));
    assertInstanceOf(PgTimeoutException.class, end(query));
  }

  @Test
  void aCancelEndsTheQuery() throws IOException, InterruptedException {
    Future<?> query = threads.submit(() -> connection.query(SLOW));
    awaitCall();
    assertTrue(connection.cancel());
    assertEquals("57014", assertInstanceOf(ServerException.class, end(query)).sqlState());
  }

  @Test
  void anInterruptEndsTheQuery() throws IOException, InterruptedException {
    Thread[] caller = new Thread[1];
    Future<?> query =
        threads.submit(
            () -> {
              caller[0] = Thread.currentThread();
              return connection.query(SLOW);
            });
    awaitCall();
    caller[0].interrupt();
    PgException interrupted = assertInstanceOf(PgException.class, end(query));
    assertTrue(interrupted.getMessage().contains("interrupted"), interrupted.getMessage());
  }
}
