package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class PoolTest {
  private static Pool pool(Pool.Settings settings) {
    return new Pool(PrivateServer.shared().config().build(), settings);
  }

  @Test
  void aConnectionComesBackRolledBackAndIsLentAgain() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1))) {
      Connection first = pool.borrow();
      first.begin(TransactionOptions.DEFAULT);
      pool.release(first);
      assertFalse(first.inTransaction());
      assertEquals(first.process(), pool.borrow().process());
    }
  }

  @Test
  void aConnectionThatWasGivenBackTwiceDoesNotEndTheNextLoan() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1))) {
      Connection first = pool.borrow();
      pool.release(first);
      Connection second = pool.borrow();
      assertThrows(PgException.class, () -> pool.release(first));
      assertEquals(0, pool.idle());
      assertTrue(second.isOpen());
      pool.release(second);
      assertEquals(1, pool.idle());
    }
  }

  @Test
  void whoeverWaitsTooLongLearnsWhichSettingSaysSo() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1).waitLimit(Duration.ofMillis(20)))) {
      pool.borrow();
      PgTimeoutException error = assertThrows(PgTimeoutException.class, pool::borrow);
      assertTrue(error.getMessage().contains("waitLimit"), error.getMessage());
    }
  }

  @Test
  void thePoolGoesOnWhenABackendIsKilled() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1).checkAfter(Duration.ZERO))) {
      int process = pool.with(Connection::process);
      assertThrows(PgException.class, () -> pool.query("select pg_terminate_backend(pg_backend_pid())"));
      int second = pool.with(Connection::process);
      assertTrue(process != second);
      try (Connection other = PrivateServer.connect()) {
        other.query("select pg_terminate_backend($1, 10000)", second);
      }
      assertEquals(1, pool.query("select 1").size());
      assertThrows(PgException.class, () -> pool.query("select pg_terminate_backend(pg_backend_pid()), x from generate_series(1, 100000) x"));
      assertEquals(1, pool.query("select 1").size());
    }
  }

  @Test
  void aBackendKilledInMidRowIsAnErrorAndThePoolGoesOn() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1)); Connection other = PrivateServer.connect()) {
      int process = pool.with(Connection::process);
      // The reader stops after the first rows: the server has sent a part of one and waits for the socket when it is killed.
      OutputStream stopped = new OutputStream() {
        private boolean killed;

        @Override
        public void write(byte[] bytes, int offset, int length) {
          if (!killed) {
            killed = true;
            // Before that it may be between two rows, and say that it ends.
            awaitFullSocket(other, process);
            other.query("select pg_terminate_backend($1, 60000)", process);
          }
        }

        @Override
        public void write(int b) {
          throw new UnsupportedOperationException("rows are written in pieces");
        }
      };
      PgException error = assertThrows(PgException.class,
          () -> pool.with(connection -> connection.writeJson(stopped, "select repeat('x', 1000003) from generate_series(1, 300)")));
      assertInstanceOf(ConnectionException.class, error);
      assertEquals(1, pool.query("select 1").size());
      assertTrue(pool.with(Connection::process) != process);
    }
  }

  private static void awaitFullSocket(Connection other, int process) {
    long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (other.query("select pid from pg_stat_activity where pid = $1 and wait_event = 'ClientWrite'", process).isEmpty()) {
      assertTrue(System.nanoTime() < deadline, "the server waits for the socket");
    }
  }

  @Test
  void aServerThatFellSilentKeepsABorrowerForNoLongerThanItsLimit() throws IOException, InterruptedException {
    for (Duration limit : List.of(Duration.ofSeconds(1), Duration.ZERO)) {
      try (Pool pool = pool(Pool.Settings.DEFAULT.size(3).waitLimit(limit).checkAfter(Duration.ZERO))) {
        List<Connection> lent = List.of(pool.borrow(), pool.borrow(), pool.borrow());
        lent.forEach(pool::release);
        signal("STOP", lent);
        try {
          Connection fresh = assertTimeoutPreemptively(limit.plusSeconds(5), pool::borrow);
          assertTrue(lent.stream().noneMatch(stopped -> stopped.process() == fresh.process()));
          assertEquals(0, pool.idle());
        } finally {
          signal("CONT", lent);
        }
      }
    }
  }

  /** A process that is stopped is what a server looks like that is gone without a word. */
  private static void signal(String name, List<Connection> connections) throws IOException, InterruptedException {
    for (Connection connection : connections) {
      assertEquals(0, new ProcessBuilder("kill", "-" + name, Integer.toString(connection.process())).start().waitFor());
    }
  }

  @Test
  void anOldConnectionIsReplaced() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1).maxLifetime(Duration.ofNanos(1)))) {
      Connection first = pool.borrow();
      pool.release(first);
      assertFalse(first.isOpen());
      assertNotEquals(first.process(), pool.borrow().process());
    }
  }

  @Test
  void aLeakIsReportedOnceWithThePlaceOfTheLoan() {
    List<PgException> leaks = new ArrayList<>();
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(3).leaks(Duration.ofNanos(1), leaks::add))) {
      pool.borrow();
      pool.borrow();
      pool.borrow();
      assertEquals(2, leaks.size());
      assertEquals("borrowed here", leaks.get(0).getCause().getMessage());
    }
  }

  @Test
  void waitersAreServedInOrder() throws InterruptedException {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1))) {
      Connection held = pool.borrow();
      List<Integer> served = Collections.synchronizedList(new ArrayList<>());
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        int number = i;
        Thread thread = new Thread(() -> {
          Connection mine = pool.borrow();
          served.add(number);
          pool.release(mine);
        });
        threads.add(thread);
        thread.start();
        while (thread.getState() != Thread.State.TIMED_WAITING) {
          Thread.onSpinWait();
        }
      }
      pool.release(held);
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(List.of(0, 1, 2, 3, 4), served);
      assertEquals(1, pool.idle());
    }
  }

  @Test
  void aClosedPoolLendsNothing() {
    Pool pool = pool(Pool.Settings.DEFAULT);
    Connection lent = pool.borrow();
    pool.close();
    pool.release(lent);
    assertFalse(lent.isOpen());
    assertThrows(ConnectionException.class, pool::borrow);
    assertThrows(PgException.class, () -> pool.release(lent));
  }
}
