package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Many threads, one connection. On a JDK that has virtual threads, they are virtual. */
class SharedConnectionTest {
  private static final String DIVIDE = "select 1000 / $1::int, $2::text";

  private final ExecutorService threads = threads();
  private Connection connection;
  private Connection other;

  static ExecutorService threads() {
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (ReflectiveOperationException e) {
      return Executors.newCachedThreadPool();
    }
  }

  @BeforeEach
  void connect() {
    connection = PrivateServer.connect();
    other = PrivateServer.connect();
    other.script("drop table if exists shared; create table shared (id int)");
    connection.query(DIVIDE, 1, "");
    connection.query(DIVIDE, 1, "");
  }

  @AfterEach
  void close() {
    connection.close();
    other.close();
    threads.shutdownNow();
  }

  private void together(int count, Callable<?> work) throws Exception {
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      all.add(threads.submit(work));
    }
    for (Future<?> one : all) {
      one.get();
    }
  }

  private static Throwable failure(Future<?> future) {
    return assertThrows(ExecutionException.class, future::get).getCause();
  }

  private static void awaitTrue(Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + 30_000_000_000L;
    while (!condition.call()) {
      assertTrue(System.nanoTime() < end, "not in 30 seconds");
      Thread.onSpinWait();
    }
  }

  private boolean waitsForLock() {
    return other
            .query("select 1 from pg_locks where pid = $1 and not granted", connection.process())
            .size()
        == 1;
  }

  /** A query of another thread that waits in the server until the lock is given up. */
  private Future<Long> blocked(Connection locker, Options options) throws Exception {
    connection.query("select count(*) from shared");
    connection.query("select count(*) from shared");
    locker.begin(TransactionOptions.DEFAULT);
    locker.query("lock table shared");
    Future<Long> blocked =
        threads.submit(
            () -> connection.query(options, "select count(*) from shared").get(0).getLong(0));
    awaitTrue(this::waitsForLock);
    return blocked;
  }

  private Future<Integer> divided(int by) {
    return threads.submit(() -> connection.query(DIVIDE, by, "").get(0).getInt(0));
  }

  @Test
  void queriesAreSentWithoutWaitingForEachOther() throws Exception {
    try (Connection locker = PrivateServer.connect()) {
      Future<Long> first = blocked(locker, Options.DEFAULT);
      long writes = connection.writes();
      Future<Integer> second = divided(10);
      Future<Integer> third = divided(0);
      Future<Integer> fourth = divided(5);
      awaitTrue(() -> connection.callsUnderWay() == 4);
      awaitTrue(() -> connection.writes() > writes);
      assertFalse(first.isDone());
      locker.rollback();
      assertEquals(0, first.get());
      assertEquals(100, second.get());
      assertEquals("22012", assertInstanceOf(ServerException.class, failure(third)).sqlState());
      assertEquals(200, fourth.get());
    }
  }

  @Test
  void jsonInMemoryGoesBesideOthersAndDoesNotWait() throws Exception {
    try (Connection locker = PrivateServer.connect()) {
      Future<Long> first = blocked(locker, Options.DEFAULT);
      Future<String> json =
          threads.submit(
              () -> new String(connection.json(DIVIDE, 8, "é\""), StandardCharsets.UTF_8));
      Future<byte[]> wrong = threads.submit(() -> connection.json(DIVIDE, 0, ""));
      Future<Integer> last = divided(5);
      awaitTrue(() -> connection.callsUnderWay() == 4);
      assertFalse(first.isDone());
      locker.rollback();
      assertEquals("[{\"?column?\":125,\"text\":\"é\\\"\"}]", json.get());
      assertEquals("22012", assertInstanceOf(ServerException.class, failure(wrong)).sqlState());
      assertEquals(200, last.get());
    }
  }

  @Test
  void jsonOfATableThatHasChangedIsWrittenAnew() {
    String sql = "select * from shared where id = 1";
    assertEquals("[]", new String(connection.json(sql), StandardCharsets.UTF_8));
    other.script("alter table shared add more int default 2; insert into shared values (1)");
    assertEquals(
        "[{\"id\":1,\"more\":2}]", new String(connection.json(sql), StandardCharsets.UTF_8));
    assertEquals(
        "[{\"id\":1,\"more\":2}]", new String(connection.json(sql), StandardCharsets.UTF_8));
  }

  @Test
  void everyThreadGetsItsOwnJson() throws Exception {
    String sql =
        "select $1::int as n, json_build_object('x', x) as j from generate_series(1, $1 % 40) as x";
    connection.query(sql, 1);
    together(
        16,
        () -> {
          for (int i = 0; i < 200; i++) {
            int mine = ThreadLocalRandom.current().nextInt(1_000_000);
            String expected =
                IntStream.rangeClosed(1, mine % 40)
                    .mapToObj(x -> "{\"n\":" + mine + ",\"j\":{\"x\" : " + x + "}}")
                    .collect(Collectors.joining(",", "[", "]"));
            assertEquals(expected, new String(connection.json(sql, mine), StandardCharsets.UTF_8));
            assertEquals(mine % 40, connection.query(sql, mine).size());
          }
          return null;
        });
  }

  @Test
  void everyThreadGetsItsOwnAnswers() throws Exception {
    AtomicInteger numbers = new AtomicInteger();
    together(
        32,
        () -> {
          for (int i = 0; i < 300; i++) {
            int by = ThreadLocalRandom.current().nextInt(20);
            String mine = "text " + numbers.incrementAndGet();
            try {
              Row row = connection.first(DIVIDE, by, mine);
              assertEquals(1000 / by, row.getInt(0));
              assertEquals(mine, row.getString(1));
            } catch (ServerException e) {
              assertEquals("22012", e.sqlState());
              assertEquals(0, by);
            }
            if (i % 50 == 0) {
              assertThrows(PgException.class, () -> connection.query(DIVIDE, 1));
              assertThrows(
                  ServerException.class, () -> connection.query("select nonsense " + mine));
            }
          }
          return null;
        });
    assertTrue(connection.isOpen());
  }

  @Test
  void whoeverHasTheConnectionAloneMakesOthersWait() throws Exception {
    String insert = "insert into shared values ($1)";
    String count = "select count(*) from shared";
    AtomicInteger committed = new AtomicInteger();
    together(
        12,
        () -> {
          for (int i = 0; i < 25; i++) {
            boolean fails = i % 5 == 0;
            try {
              connection.transaction(
                  tx -> {
                    long before = tx.query(count).get(0).getLong(0);
                    tx.execute(insert, 1);
                    assertEquals(
                        before + 1,
                        tx.query(count).get(0).getLong(0),
                        "a statement of another thread got into the transaction");
                    if (fails) {
                      throw new IllegalStateException();
                    }
                    return committed.incrementAndGet();
                  });
            } catch (IllegalStateException e) {
              assertTrue(fails);
            }
            assertNull(
                connection.query("select pg_current_xact_id_if_assigned()").get(0).getObject(0));
            try (Cursor cursor =
                connection.cursor(
                    Options.DEFAULT.fetchSize(2), "select x, 'c' from generate_series(1, 7) x")) {
              int sum = 0;
              while (cursor.hasNext()) {
                sum += cursor.next().getInt(0);
              }
              assertEquals(28, sum);
            }
            assertEquals(500, connection.query(DIVIDE, 2, "").get(0).getInt(0));
          }
          return null;
        });
    assertEquals(committed.get(), connection.query(count).get(0).getLong(0));
  }

  @Test
  void neitherKindKeepsTheOtherWaitingForever() throws Exception {
    AtomicBoolean stop = new AtomicBoolean();
    List<Future<?>> sharing = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      sharing.add(
          threads.submit(
              () -> {
                while (!stop.get()) {
                  connection.query(DIVIDE, 4, "");
                }
              }));
    }
    for (int i = 0; i < 50; i++) {
      long rows =
          connection.transaction(
              tx -> {
                tx.execute("insert into shared values (1)");
                return tx.query("select count(*) from shared").get(0).getLong(0);
              });
      assertEquals(i + 1, rows);
    }
    stop.set(true);
    for (Future<?> one : sharing) {
      one.get();
    }
  }

  @Test
  void aCancelOrATimeoutNeverEndsTheQueryOfAnotherThread() throws Exception {
    connection.query("select pg_sleep($1), 'slow'", 0.0);
    AtomicBoolean stop = new AtomicBoolean();
    List<Future<?>> innocent = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      innocent.add(
          threads.submit(
              () -> {
                // Long enough to be hit, short enough to be there when the cancelled one has just
                // ended by itself.
                String sql = "select count(*) from generate_series(1, 3000)";
                while (!stop.get()) {
                  assertEquals(3000, connection.query(sql).get(0).getLong(0));
                }
              }));
    }
    int ended = 0;
    for (int i = 0; i < 400; i++) {
      double seconds = ThreadLocalRandom.current().nextDouble(0.0005, 0.004);
      try {
        connection.query(
            Options.DEFAULT.timeout(Duration.ofMillis(1)), "select pg_sleep($1), 'slow'", seconds);
      } catch (PgTimeoutException e) {
        ended++;
      }
    }
    stop.set(true);
    for (Future<?> one : innocent) {
      one.get();
    }
    assertTrue(ended > 0);
  }

  @Test
  void aTimeoutEndsTheQueryThatTheServerHasBegun() throws Exception {
    try (Connection locker = PrivateServer.connect()) {
      Future<Long> late = blocked(locker, Options.DEFAULT.timeout(Duration.ofMillis(20)));
      Future<Integer> behind = divided(10);
      assertInstanceOf(PgTimeoutException.class, failure(late));
      assertEquals(100, behind.get());
    }
  }

  /** The second is one that would run for long: when the server gets to it, it is cancelled. */
  @Test
  void aTimeoutCountsTheWaitForStatementsOfOtherThreads() throws Exception {
    String slow = "select pg_sleep($1)";
    connection.query(slow, 0.0);
    connection.query(slow, 0.0);
    try (Connection locker = PrivateServer.connect()) {
      Future<Long> first = blocked(locker, Options.DEFAULT);
      Options limited = Options.DEFAULT.timeout(Duration.ofMillis(50));
      Future<?> second = threads.submit(() -> connection.query(limited, slow, 60.0));
      assertInstanceOf(PgTimeoutException.class, failure(second));
      assertFalse(first.isDone());
      // What comes now waits for its turn, and says so when that takes too long.
      Future<?> third = threads.submit(() -> connection.query(limited, DIVIDE, 10, ""));
      assertTrue(
          assertInstanceOf(PgTimeoutException.class, failure(third))
              .getMessage()
              .contains("nothing was sent"));
      Future<Integer> last = divided(10);
      locker.rollback();
      assertEquals(0, first.get());
      assertEquals(100, last.get(30, TimeUnit.SECONDS));
      assertEquals(0, connection.callsUnderWay());
      assertEquals(500, divided(2).get(30, TimeUnit.SECONDS));
    }
  }

  @Test
  @Tag("timing")
  void theWaitForTheTurnAndTheQueryHaveOneLimitTogether() throws Exception {
    Options limited = Options.DEFAULT.timeout(Duration.ofMillis(2000));
    CountDownLatch taken = new CountDownLatch(1);
    Future<?> holder =
        threads.submit(
            () ->
                connection.transaction(
                    tx -> {
                      taken.countDown();
                      return tx.query("select pg_sleep(1.5)").size();
                    }));
    taken.await();
    long begun = System.nanoTime();
    Future<?> query = threads.submit(() -> connection.query(limited, "select pg_sleep(30)"));
    assertInstanceOf(PgTimeoutException.class, failure(query));
    Bound.TURN_AND_QUERY.checkSince(begun);
    holder.get();
  }

  @Test
  void callersThatLeaveHarmNobody() throws Exception {
    connection.query("select pg_sleep($1), 'slow'", 0.0);
    AtomicInteger late = new AtomicInteger();
    together(
        12,
        () -> {
          for (int i = 0; i < 150; i++) {
            int by = ThreadLocalRandom.current().nextInt(1, 20);
            try {
              Options limited =
                  Options.DEFAULT.timeout(
                      Duration.ofMillis(ThreadLocalRandom.current().nextInt(1, 4)));
              if (i % 3 == 0) {
                connection.query(limited, "select pg_sleep($1), 'slow'", 0.003);
              } else {
                assertEquals(
                    1000 / by,
                    connection
                        .first(i % 3 == 1 ? limited : Options.DEFAULT, DIVIDE, by, "")
                        .getInt(0));
              }
            } catch (PgTimeoutException e) {
              late.incrementAndGet();
            }
          }
          return null;
        });
    assertTrue(late.get() > 0);
    assertEquals(0, connection.callsUnderWay());
    assertEquals(500, connection.query(DIVIDE, 2, "").get(0).getInt(0));
  }

  @Test
  void aCancelIsMeantForTheQueryThatRuns() throws Exception {
    try (Connection locker = PrivateServer.connect()) {
      Future<Long> first = blocked(locker, Options.DEFAULT);
      Future<Integer> second = divided(10);
      awaitTrue(() -> connection.callsUnderWay() == 2);
      assertTrue(connection.cancel());
      assertEquals("57014", assertInstanceOf(ServerException.class, failure(first)).sqlState());
      assertEquals(100, second.get());
      assertFalse(connection.cancel());
    }
  }

  @Test
  void anInterruptEndsItsOwnThreadsQuery() throws Exception {
    try (Connection locker = PrivateServer.connect()) {
      Future<Long> first = blocked(locker, Options.DEFAULT);
      CompletableFuture<Thread> started = new CompletableFuture<>();
      CompletableFuture<Throwable> seen = new CompletableFuture<>();
      threads.submit(
          () -> {
            started.complete(Thread.currentThread());
            try {
              connection.query("select count(*) from shared");
              seen.complete(null);
            } catch (PgException e) {
              seen.complete(Thread.currentThread().isInterrupted() ? e : null);
            }
          });
      awaitTrue(() -> connection.callsUnderWay() == 2);
      started.get().interrupt();
      Future<Integer> third = divided(10);
      awaitTrue(() -> connection.callsUnderWay() == 3);
      assertFalse(first.isDone());
      assertTrue(connection.cancel());
      assertInstanceOf(ServerException.class, failure(first));
      PgException interrupted = assertInstanceOf(PgException.class, seen.get());
      assertTrue(interrupted.getMessage().contains("interrupted"), interrupted.getMessage());
      assertEquals(100, third.get());
    }
  }

  @Test
  void whoeverWaitsForAHolderMayBeInterruptedAndHasALimit() throws Exception {
    Cursor cursor = connection.cursor("select generate_series(1, 3)");
    Future<?> limited =
        threads.submit(
            () -> connection.query(Options.DEFAULT.timeout(Duration.ofMillis(20)), DIVIDE, 1, ""));
    String message = assertInstanceOf(PgTimeoutException.class, failure(limited)).getMessage();
    assertTrue(message.contains("an open cursor"), message);
    CompletableFuture<Thread> started = new CompletableFuture<>();
    Future<?> interrupted =
        threads.submit(
            () -> {
              started.complete(Thread.currentThread());
              return connection.query(DIVIDE, 1, "");
            });
    started.get().interrupt();
    assertEquals("57014", assertInstanceOf(PgException.class, failure(interrupted)).sqlState());
    Future<Integer> patient = divided(10);
    assertEquals(
        "55006", assertThrows(PgException.class, () -> connection.query(DIVIDE, 1, "")).sqlState());
    assertEquals(1, cursor.next().getInt(0));
    assertFalse(patient.isDone());
    cursor.close();
    assertEquals(100, patient.get());
  }

  @Test
  void aBrokenConnectionEndsEveryCall() throws Exception {
    try (Connection locker = PrivateServer.connect()) {
      Future<Long> first = blocked(locker, Options.DEFAULT);
      List<Future<Integer>> behind = List.of(divided(1), divided(2), divided(0));
      awaitTrue(() -> connection.callsUnderWay() == 4);
      other.query("select pg_terminate_backend($1)", connection.process());
      assertInstanceOf(PgException.class, failure(first));
      for (Future<Integer> one : behind) {
        assertInstanceOf(PgException.class, failure(one));
      }
      assertFalse(connection.isOpen());
    }
  }

  @Test
  void neitherLargeParametersNorLargeResultsBlockTheOthers() throws Exception {
    String echo = "select $1::text, $2::int";
    connection.query(echo, "", 0);
    String large = "x".repeat(3_000_000);
    together(
        12,
        () -> {
          for (int i = 0; i < 4; i++) {
            Row row = connection.query(echo, large, i).get(0);
            assertEquals(large, row.getString(0));
            assertEquals(i, row.getInt(1));
          }
          return null;
        });
  }

  @Test
  void definitionsMayChangeMeanwhile() throws Exception {
    other.query("insert into shared values (1)");
    String all = "select * from shared";
    AtomicBoolean stop = new AtomicBoolean();
    List<Future<?>> readers = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      readers.add(
          threads.submit(
              () -> {
                while (!stop.get()) {
                  Result rows = connection.query(all);
                  assertEquals(rows.columns().size(), rows.get(0).toArray().length);
                }
              }));
    }
    for (int i = 0; i < 10; i++) {
      other.script("alter table shared add column c" + i + " int");
    }
    stop.set(true);
    for (Future<?> one : readers) {
      one.get();
    }
    assertEquals(11, connection.query(all).columns().size());
  }

  @Test
  void aHandlerCannotAskTheConnectionThatWaitsForIt() {
    AtomicInteger seen = new AtomicInteger();
    Connection[] asked = new Connection[1];
    Config config =
        PrivateServer.shared()
            .config()
            .notices(
                notice -> {
                  PgException busy =
                      assertThrows(PgException.class, () -> asked[0].query("select 1"));
                  assertEquals("55006", busy.sqlState());
                  assertEquals(
                      "55006",
                      assertThrows(PgException.class, () -> asked[0].script("select 1"))
                          .sqlState());
                  assertEquals(
                      "55006",
                      assertThrows(PgException.class, () -> asked[0].cursor("select 1").close())
                          .sqlState());
                  assertEquals(
                      "55006",
                      assertThrows(PgException.class, () -> asked[0].pipeline().query("select 1"))
                          .sqlState());
                  seen.incrementAndGet();
                })
            .build();
    try (Connection noticed = Connection.open(config)) {
      asked[0] = noticed;
      noticed.script(
          "create or replace function noisy() returns int language plpgsql as 'begin raise notice"
              + " ''x''; return 1; end'");
      for (int i = 0; i < 3; i++) {
        noticed.query("select noisy()");
      }
      assertEquals(3, seen.get());
    }
  }

  /**
   * The work of a transaction that waits for a thread which waits for the transaction would wait
   * forever.
   */
  @Test
  void anotherThreadIsRefusedTheTransactionThatWaitsForIt() {
    assertTimeoutPreemptively(
        Duration.ofSeconds(30),
        () -> {
          int answer =
              connection.transaction(
                  tx -> {
                    for (Callable<?> use :
                        List.<Callable<?>>of(
                            () -> tx.query("select 1"),
                            () -> tx.script("select 1"),
                            () -> tx.transaction(inner -> 1),
                            tx::pipeline,
                            () -> tx.cursor("select 1"))) {
                      Future<?> other =
                          threads.submit(
                              () -> {
                                Object used = use.call();
                                return used instanceof Pipeline pipeline
                                    ? pipeline.query("select 1")
                                    : used;
                              });
                      PgException refused = assertInstanceOf(PgException.class, failure(other));
                      assertTrue(
                          refused.getMessage().contains("the transaction is that of the thread"),
                          refused.getMessage());
                    }
                    return tx.transaction(inner -> inner.query("select 7").get(0).getInt(0));
                  });
          assertEquals(7, answer);
        });
    assertEquals(1, connection.query("select 1").size());
  }

  @Test
  void aTransactionMayBeCancelledFromAnotherThread() throws Exception {
    Future<?> slow =
        threads.submit(
            () ->
                connection.transaction(
                    tx -> {
                      threads.submit(
                          () -> {
                            while (!tx.cancel()) {
                              Thread.onSpinWait();
                            }
                          });
                      return tx.query("select pg_sleep(60)");
                    }));
    assertEquals("57014", assertInstanceOf(PgException.class, failure(slow)).sqlState());
  }
}
