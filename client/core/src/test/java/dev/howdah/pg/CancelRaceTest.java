package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Cancels and interrupts that come just when a loan or a transaction ends. */
class CancelRaceTest {
  private static final int SECONDS = 3;
  private static final int MOST_SECONDS = 60;
  private static final int CANCELLERS = 6;

  /**
   * Whoever asks has a loan that ends while the cancel waits for the gate: then another's query
   * runs.
   */
  @Test
  void aCancelOfALoanThatEndsHitsNoStatementOfTheNext() throws InterruptedException {
    ReentrantLock lock = new ReentrantLock();
    CancelGate gate = new CancelGate(lock);
    AtomicBoolean returned = new AtomicBoolean();
    AtomicInteger sent = new AtomicInteger();
    gate.begin();
    lock.lock();
    Thread canceller = new Thread(() -> gate.cancel(() -> !returned.get(), sent::incrementAndGet));
    canceller.start();
    while (!lock.hasQueuedThread(canceller)) {
      Thread.onSpinWait();
    }
    gate.end();
    returned.set(true);
    gate.begin();
    lock.unlock();
    canceller.join();
    assertEquals(0, sent.get(), "the next borrower's statement was cancelled");
    assertTrue(gate.cancel(() -> true, sent::incrementAndGet));
    assertEquals(1, sent.get());
  }

  /**
   * Threads cancel whatever loan they may, of a pool with one connection, also when it has just
   * gone back. The next loan, which they do not know, has the same connection; its query always
   * ends well.
   */
  @Test
  void cancelsOfALoanNeverHitTheNextOne() throws Exception {
    AtomicReference<Connection> known = new AtomicReference<>();
    AtomicBoolean over = new AtomicBoolean();
    int hit = 0;
    ExecutorService threads = Executors.newFixedThreadPool(CANCELLERS);
    try (Pool pool =
        new Pool(PrivateServer.shared().config().build(), Pool.Settings.DEFAULT.size(1))) {
      for (int i = 0; i < CANCELLERS; i++) {
        threads.execute(
            () -> {
              while (!over.get()) {
                Connection loan = known.get();
                if (loan == null || !loan.cancel()) {
                  Thread.yield();
                }
              }
            });
      }
      long start = System.nanoTime();
      // A machine that is busy takes longer to cancel anything.
      for (int i = 0;
          System.nanoTime() - start < (hit > 0 ? SECONDS : MOST_SECONDS) * 1_000_000_000L;
          i++) {
        try (Connection loan = pool.borrow()) {
          known.set(loan);
          // Often nothing runs, so that the loan goes back while a thread is about to cancel.
          if (i % 4 == 0) {
            loan.query("select pg_sleep($1)", i % 16 == 0 ? 0.1 : 0.005);
          }
        } catch (ServerException e) {
          assertEquals("57014", e.sqlState());
          hit++;
        }
        try (Connection innocent = pool.borrow()) {
          assertEquals(
              i, innocent.query("select $1::int from pg_sleep(0.002)", i).get(0).getInt(0));
        }
      }
    } finally {
      over.set(true);
      threads.shutdown();
      assertTrue(threads.awaitTermination(30, TimeUnit.SECONDS), "a cancel does not end");
    }
    assertTrue(hit > 0, "no cancel hit anything");
  }

  /** A connection by a relay, which counts connections: each cancel takes one. */
  private static Connection by(FakeServer relay) {
    return Connection.open(PrivateServer.shared().config().port(relay.port()).build());
  }

  private static FakeServer relay() {
    return new FakeServer(
        InetAddress.getLoopbackAddress(), FakeServer.relayTo(PrivateServer.shared().port()));
  }

  /** Work that fails in a thread whose flag is set. */
  private static <T> T interrupted(Connection connection) {
    connection.execute("insert into kept values (1)");
    Thread.currentThread().interrupt();
    throw new IllegalStateException("interrupted");
  }

  @Test
  void aTransactionWhoseThreadIsInterruptedIsRolledBack() {
    try (FakeServer relay = relay();
        Connection connection = by(relay)) {
      connection.execute("create temporary table kept (n int)");
      Function<Connection, Object> work = CancelRaceTest::interrupted;
      for (int i = 0; i < 10; i++) {
        assertThrows(
            IllegalStateException.class,
            () -> connection.transaction(TransactionOptions.DEFAULT, work));
        assertTrue(Thread.interrupted(), "the flag is kept");
        assertFalse(connection.inTransaction());
        connection.transaction(
            TransactionOptions.DEFAULT,
            outer -> {
              assertThrows(
                  IllegalStateException.class,
                  () -> outer.transaction(TransactionOptions.DEFAULT, work));
              assertTrue(Thread.interrupted(), "the flag is kept");
              assertFalse(outer.transactionFailed());
              return null;
            });
        connection.begin(TransactionOptions.DEFAULT);
        Thread.currentThread().interrupt();
        connection.rollback();
        assertTrue(Thread.interrupted(), "the flag is kept");
        assertFalse(connection.inTransaction());
      }
      assertEquals(0, connection.query("select from kept").size());
      assertEquals(1, relay.connections(), "nothing was cancelled");
    }
  }

  @Test
  void aLoanWhoseThreadIsInterruptedGoesBackInOrder() {
    try (FakeServer relay = relay();
        Pool pool =
            new Pool(
                PrivateServer.shared().config().port(relay.port()).build(),
                Pool.Settings.DEFAULT.size(1))) {
      int process = 0;
      for (int i = 0; i < 10; i++) {
        Connection loan = pool.borrow();
        assertTrue(process == 0 || process == loan.process(), "it is the same connection");
        process = loan.process();
        loan.begin(TransactionOptions.DEFAULT);
        Thread.currentThread().interrupt();
        loan.close();
        assertTrue(Thread.interrupted(), "the flag is kept");
      }
      assertEquals(1, relay.connections(), "nothing was cancelled");
    }
  }
}
