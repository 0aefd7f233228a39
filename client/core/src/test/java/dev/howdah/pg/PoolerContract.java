package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What holds behind any pooler in transaction mode that has several connections to the server. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class PoolerContract {
  static final int BACKENDS = 3;
  private PgBouncer pooler;

  abstract PgBouncer startPooler();

  /** How many rounds of statements may meet a connection of the server that does not know them. */
  abstract int losses();

  /** How many statements of so many texts the server may keep in all. */
  abstract int mostKept(int texts);

  @BeforeAll
  void start() {
    pooler = startPooler();
    pooler.spread(BACKENDS);
  }

  @AfterAll
  void stop() {
    if (pooler != null) {
      pooler.close();
    }
  }

  final Connection connect() {
    return Connection.open(pooler.config().build());
  }

  @Test
  void transactionsGoToEachConnectionOfThePoolerInTurn() {
    try (Connection connection = connect()) {
      List<Integer> processes = new ArrayList<>();
      for (int i = 0; i < 2 * BACKENDS; i++) {
        processes.add(connection.script("select pg_backend_pid()").get(0).get(0).getInt(0));
      }
      assertEquals(BACKENDS, processes.stream().distinct().count(), processes.toString());
    }
  }

  /** How many statements the server keeps in all of the pooler's connections. */
  static int kept(Connection connection) {
    int kept = 0;
    for (int i = 0; i < BACKENDS; i++) {
      kept +=
          connection
              .script("select count(*)::int from pg_prepared_statements")
              .get(0)
              .get(0)
              .getInt(0);
    }
    return kept;
  }

  @Test
  void statementsDoNotPileUpInTheServer() {
    try (Connection connection = connect()) {
      int before = kept(connection);
      Random random = new Random(1);
      for (int i = 0; i < 500; i++) {
        int text = random.nextInt(4);
        assertEquals(
            i, connection.query("select $1::int + " + text + " - " + text, i).get(0).getInt(0));
      }
      int after = kept(connection);
      assertTrue(
          after - before <= mostKept(4),
          "the server keeps " + after + " statements, and kept " + before);
    }
  }

  @Test
  void onceAStatementWasLostNoTransactionFailsForIt() {
    try (Connection connection = connect()) {
      for (int i = 0; i < 20 && losses() > 0; i++) {
        assertEquals(i, connection.query("select $1::int", i).get(0).getInt(0));
      }
      for (int i = 0; i < 100; i++) {
        int number = i;
        int sum =
            connection.transaction(
                tx ->
                    tx.query("select $1::int", number).get(0).getInt(0)
                        + tx.query("select $1::int * 1", number).get(0).getInt(0));
        assertEquals(2 * i, sum);
      }
    }
  }

  @Test
  void aPipelineRunsItsOwnStatements() {
    try (Connection one = connect();
        Connection other =
            Connection.open(pooler.config().set("statement_cache_size", 0).build())) {
      for (int i = 0; i < 20; i++) {
        try (Pipeline pipeline = one.pipeline();
            Pipeline beside = other.pipeline()) {
          Pipeline.Answer first = pipeline.query("select 'one'");
          Pipeline.Answer second = beside.query("select 'other'");
          Pipeline.Answer third = pipeline.query("select 'one'");
          Pipeline.Answer fourth = beside.query("select 'another'");
          // The first use of a statement may find the loss; none may ever run another's.
          assertEquals("other", second.get().get(0).getString(0));
          assertEquals("another", fourth.get().get(0).getString(0));
          for (Pipeline.Answer answer : List.of(first, third)) {
            try {
              assertEquals("one", answer.get().get(0).getString(0));
            } catch (ServerException e) {
              assertEquals("26000", e.sqlState());
              assertTrue(i < losses(), "round " + i);
            }
          }
        }
      }
    }
  }
}
