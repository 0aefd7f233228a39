package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A pooler in transaction mode that keeps no prepared statements, and has several connections to the server. */
class PoolerTest {
  private static final int BACKENDS = 3;
  private static PgBouncer pooler;

  @BeforeAll
  static void start() {
    pooler = PgBouncer.keepingNoStatements(PrivateServer.shared());
    pooler.spread(BACKENDS);
  }

  @AfterAll
  static void stop() {
    pooler.close();
  }

  private static Connection connect() {
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
}
