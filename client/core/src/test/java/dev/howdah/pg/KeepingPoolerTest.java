package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.Test;

/**
 * Behind a pooler that prepares a client's statements on whichever connection they come to: none is
 * ever lost.
 */
class KeepingPoolerTest extends PoolerContract {
  @Override
  PgBouncer startPooler() {
    assumeTrue(PgBouncer.canKeepStatements("a pooler that keeps prepared statements"));
    return PgBouncer.keepingStatements(PrivateServer.shared());
  }

  @Override
  int losses() {
    return 0;
  }

  @Override
  int mostKept(int texts) {
    return texts * BACKENDS;
  }

  @Test
  void statementsStayPrepared() {
    try (Connection connection = connect()) {
      int before = kept(connection);
      for (int i = 0; i < 5 * BACKENDS; i++) {
        assertEquals(i, connection.query("select $1::int - 0", i).get(0).getInt(0));
      }
      assertTrue(kept(connection) > before, "the server keeps none");
    }
  }
}
