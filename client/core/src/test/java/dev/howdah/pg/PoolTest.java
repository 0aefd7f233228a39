package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

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
      Connection next = pool.borrow();
      assertFalse(next.inTransaction());
      assertEquals(first.process(), next.process());
    }
  }

  @Test
  void aLentConnectionThatIsClosedIsGivenBack() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1))) {
      int process;
      try (Connection lent = pool.borrow()) {
        process = lent.process();
      }
      assertEquals(1, pool.idle());
      Connection first = pool.borrow();
      assertEquals(process, first.process());
      first.close();
      Connection second = pool.borrow();
      first.close();
      assertEquals(0, pool.idle());
      assertEquals(1, second.query("select 1").size());
    }
  }

  @Test
  void aLimitOfTheNetworkEndsWithTheLoan() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1))) {
      int process;
      try (Connection first = pool.borrow()) {
        process = first.process();
        first.networkLimit(Duration.ofMillis(30_000));
        assertEquals(
            "22023",
            assertThrows(PgException.class, () -> first.networkLimit(Duration.ofMillis(-1)))
                .sqlState());
        first.query("select 1");
        first.networkLimit(Duration.ofMillis(1));
      }
      try (Connection next = pool.borrow()) {
        assertEquals(process, next.process());
        assertEquals(1, next.query("select pg_sleep(0.1)").size());
      }
    }
  }

  @Test
  void aConnectionThatWasGivenBackCanDoNothing() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1))) {
      Connection lent = pool.borrow();
      lent.query("select 1");
      Pipeline pipeline = lent.pipeline();
      pool.release(lent);
      Connection next = pool.borrow();
      next.begin(TransactionOptions.DEFAULT);
      List<Executable> uses =
          List.of(
              () -> lent.query("select 1"),
              () -> lent.json("select 1"),
              () -> lent.script("select 1"),
              () -> lent.cursor("select 1"),
              () -> lent.begin(TransactionOptions.DEFAULT),
              lent::commit,
              lent::rollback,
              lent::inTransaction,
              () -> lent.transaction(tx -> 1),
              () -> lent.copyOut("copy (select 1) to stdout", OutputStream.nullOutputStream()),
              () -> lent.onNotification(notification -> {}),
              () -> lent.listen("events"),
              () -> pipeline.query("select 1"));
      for (Executable use : uses) {
        PgException error = assertThrows(PgException.class, use);
        assertTrue(error.getMessage().contains("given back"), error.getMessage());
      }
      assertFalse(lent.isOpen());
      assertFalse(lent.cancel());
      assertTrue(next.inTransaction());
      assertEquals(1, next.query("select 1").size());
    }
  }

  @Test
  void aConnectionThatIsDiscardedIsNotLentAgain() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1))) {
      Connection first = pool.borrow();
      pool.discard(first);
      assertEquals(0, pool.idle());
      assertNotEquals(first.process(), pool.with(Connection::process));
      assertThrows(PgException.class, () -> pool.discard(first));
    }
  }

  @Test
  void aConnectionOnWhichAnotherThreadIsBusyIsNotLentAgain()
      throws InterruptedException, ExecutionException {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1))) {
      Connection lent = pool.borrow();
      lent.query("select pg_sleep($1)", 0);
      lent.query("select pg_sleep($1)", 0);
      CompletableFuture<Result> slow =
          CompletableFuture.supplyAsync(() -> lent.query("select pg_sleep($1)", 60));
      while (lent.callsUnderWay() == 0) {
        Thread.onSpinWait();
      }
      pool.release(lent);
      assertThrows(ExecutionException.class, slow::get);
      assertNotEquals(lent.process(), pool.with(Connection::process));
    }
  }

  @Test
  void whatAConnectionRunsAPoolRuns() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1))) {
      Source source = pool;
      source.script("drop table if exists lent; create table lent (a int)");
      assertEquals(2, source.execute("insert into lent values ($1), ($2)", 1, 2));
      assertEquals(
          2,
          source.copyIn(
              "copy lent from stdin (format binary)",
              List.of("int"),
              List.of(List.of(3), List.of(4))));
      assertEquals(1, source.first("select a from lent order by a").getInt("a"));
      assertEquals(
          10L,
          source.<Long>reduce(
              Options.DEFAULT, 0L, (sum, row) -> sum + row.getLong(0), "select a from lent"));
      assertEquals("[{\"a\":4}]", new String(source.json("select a from lent where a > $1", 3)));
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      assertEquals(1, source.writeJson(out, "select a from lent where a = 1"));
      assertEquals(1, source.writeEdn(out, "select a from lent where a = 1"));
      assertEquals(1, source.writeCsv(out, "select a from lent where a = 1"));
      assertEquals(1, source.copyOut("copy (select a from lent where a = 2) to stdout", out));
      assertEquals("[{\"a\":1}][{:a 1}]a\n1\n2\n", out.toString());
      assertThrows(
          PgException.class,
          () ->
              source.transaction(
                  tx -> tx.execute("delete from lent") / tx.execute("select 1 / 0")));
      assertEquals(
          4,
          source.<Long>transaction(
              TransactionOptions.DEFAULT.rollback(true), tx -> tx.execute("delete from lent")));
      assertEquals(4, source.query("select a from lent").size());
      assertEquals(1, pool.idle());
    }
  }

  @Test
  void aBackendThatWasKilledJustNowIsNotLent() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(3));
        Connection other = PrivateServer.connect()) {
      List<Connection> lent = List.of(pool.borrow(), pool.borrow(), pool.borrow());
      lent.forEach(pool::release);
      for (Connection killed : lent) {
        other.query("select pg_terminate_backend($1, 60000)", killed.process());
      }
      assertEquals(1, pool.query("select 1").size());
      assertEquals(1, pool.idle());
    }
  }

  @Test
  void whatAnIdleConnectionIsToldDoesNotEndIt() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1));
        Connection other = PrivateServer.connect()) {
      int process =
          pool.with(
              connection -> {
                connection.listen("idle_connections");
                return connection.process();
              });
      other.query("select pg_notify('idle_connections', repeat('x', 7000))");
      // Behind this statement the server has sent the notification, if not earlier.
      other.query("select pg_notify('idle_connections', '')");
      assertEquals(process, pool.with(Connection::process));
      assertEquals(1, pool.query("select 1").size());
    }
  }

  @Test
  void openingAConnectionTakesNoLongerThanTheBorrowersLimit() throws IOException {
    // Its queue takes the connection, and nobody ever answers.
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Pool pool =
            new Pool(
                PrivateServer.shared()
                    .config()
                    .port(silent.getLocalPort())
                    .set("connect_timeout", 60)
                    .build(),
                Pool.Settings.DEFAULT.waitLimit(Duration.ofMillis(1200)))) {
      PgTimeoutException late =
          assertTimeoutPreemptively(
              Duration.ofSeconds(20), () -> assertThrows(PgTimeoutException.class, pool::borrow));
      assertTrue(late.getMessage().contains("waitLimit"), late.getMessage());
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
      assertThrows(
          PgException.class, () -> pool.query("select pg_terminate_backend(pg_backend_pid())"));
      int second = pool.with(Connection::process);
      assertTrue(process != second);
      try (Connection other = PrivateServer.connect()) {
        other.query("select pg_terminate_backend($1, 10000)", second);
      }
      assertEquals(1, pool.query("select 1").size());
      assertThrows(
          PgException.class,
          () ->
              pool.query(
                  "select pg_terminate_backend(pg_backend_pid()), x from generate_series(1, 100000)"
                      + " x"));
      assertEquals(1, pool.query("select 1").size());
    }
  }

  @Test
  void aBackendKilledInMidRowIsAnErrorAndThePoolGoesOn() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(1));
        Connection other = PrivateServer.connect()) {
      int process = pool.with(Connection::process);
      // The reader stops after the first rows: the server has sent a part of one and waits for the
      // socket when it is killed.
      OutputStream stopped =
          new OutputStream() {
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
      PgException error =
          assertThrows(
              PgException.class,
              () ->
                  pool.with(
                      connection ->
                          connection.writeJson(
                              stopped,
                              "select repeat('x', 1000003) from generate_series(1, 300)")));
      assertInstanceOf(ConnectionException.class, error);
      assertEquals(1, pool.query("select 1").size());
      assertTrue(pool.with(Connection::process) != process);
    }
  }

  /**
   * Waits until the server waits for the socket at each look: while buffers grow it waits for a
   * moment, and writes on.
   */
  private static void awaitFullSocket(Connection other, int process) {
    long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    int waiting = 0;
    while (waiting < 20) {
      assertTrue(System.nanoTime() < deadline, "the server waits for the socket");
      boolean waits =
          !other
              .query(
                  "select pid, pg_sleep(0.01) from pg_stat_activity where pid = $1 and wait_event ="
                      + " 'ClientWrite'",
                  process)
              .isEmpty();
      waiting = waits ? waiting + 1 : 0;
    }
  }

  @Test
  @Tag("timing")
  void aServerThatFellSilentKeepsABorrowerForNoLongerThanItsLimit()
      throws IOException, InterruptedException {
    for (Duration limit : List.of(Duration.ofSeconds(1), Duration.ZERO)) {
      try (Pool pool =
          pool(Pool.Settings.DEFAULT.size(3).waitLimit(limit).checkAfter(Duration.ZERO))) {
        List<Connection> lent = List.of(pool.borrow(), pool.borrow(), pool.borrow());
        lent.forEach(pool::release);
        signal("STOP", lent);
        try {
          long start = System.nanoTime();
          Connection fresh = assertTimeoutPreemptively(Bound.HANGS, pool::borrow);
          Bound.STOPPED_SERVER.checkSince(start);
          assertTrue(lent.stream().noneMatch(stopped -> stopped.process() == fresh.process()));
          assertEquals(0, pool.idle());
        } finally {
          signal("CONT", lent);
        }
      }
    }
  }

  /** A process that is stopped is what a server looks like that is gone without a word. */
  private static void signal(String name, List<Connection> connections)
      throws IOException, InterruptedException {
    for (Connection connection : connections) {
      assertEquals(
          0,
          new ProcessBuilder("sh", "-c", "kill -" + name + " " + connection.process())
              .start()
              .waitFor());
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
  void aLeakThatABorrowerWaitsForInVainIsReported() {
    List<PgException> leaks = new ArrayList<>();
    try (Pool pool =
        pool(
            Pool.Settings.DEFAULT
                .size(1)
                .waitLimit(Duration.ofSeconds(3))
                .leaks(Duration.ofMillis(500), leaks::add))) {
      pool.borrow();
      assertThrows(PgTimeoutException.class, pool::borrow);
      assertEquals(1, leaks.size());
    }
  }

  @Test
  void aReceiverOfLeaksMayUseThePoolAndFail() {
    List<PgException> leaks = new ArrayList<>();
    List<Throwable> uncaught = new ArrayList<>();
    Pool[] pool = new Pool[1];
    Thread.currentThread().setUncaughtExceptionHandler((thread, error) -> uncaught.add(error));
    try (Pool leaking =
        pool(
            Pool.Settings.DEFAULT
                .size(4)
                .leaks(
                    Duration.ofNanos(1),
                    leak -> {
                      leaks.add(leak);
                      assertEquals(1, pool[0].query("select 1").size());
                      throw new IllegalStateException("no");
                    }))) {
      pool[0] = leaking;
      leaking.borrow();
      leaking.borrow();
      assertEquals(1, leaking.query("select 1").size());
      assertEquals(uncaught.size(), leaks.size());
      assertTrue(
          leaks.size() >= 2 && uncaught.stream().allMatch(error -> "no".equals(error.getMessage())),
          uncaught.toString());
    } finally {
      Thread.currentThread().setUncaughtExceptionHandler(null);
    }
  }

  @Test
  void aPoolHasOneConnectionAtLeast() {
    for (int size : new int[] {0, -1}) {
      String message =
          assertThrows(IllegalArgumentException.class, () -> Pool.Settings.DEFAULT.size(size))
              .getMessage();
      assertTrue(message.contains(Integer.toString(size)), message);
    }
  }

  @Test
  void aPoolAndAConnectionSayWhatTheyAre() {
    try (Pool pool = pool(Pool.Settings.DEFAULT.size(2))) {
      Connection lent = pool.borrow();
      String where =
          PrivateServer.USER + "@127.0.0.1:" + PrivateServer.shared().port() + "/postgres";
      assertEquals("Pool[" + where + ", 1 of 2 lent, 0 idle]", pool.toString());
      assertEquals(
          "Connection[" + where + ", process " + lent.process() + ", idle]", lent.toString());
      lent.begin(TransactionOptions.DEFAULT);
      assertTrue(lent.toString().endsWith(", in a transaction]"), lent.toString());
      lent.close();
      assertTrue(lent.toString().endsWith(", closed]"), lent.toString());
      assertEquals("Pool[" + where + ", 0 of 2 lent, 1 idle]", pool.toString());
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
        Thread thread =
            new Thread(
                () -> {
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
