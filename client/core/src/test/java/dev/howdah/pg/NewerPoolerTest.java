package dev.howdah.pg;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** Behind a pooler that could keep prepared statements, and is told not to. */
class NewerPoolerTest extends PoolerTest {
  @Override
  PgBouncer startPooler() {
    assumeTrue(PgBouncer.canKeepStatements("a newer pooler that keeps no prepared statements"));
    return PgBouncer.newerKeepingNoStatements(PrivateServer.shared());
  }
}
