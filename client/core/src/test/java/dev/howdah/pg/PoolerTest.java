package dev.howdah.pg;

/** Behind this machine's pooler, which keeps no prepared statements. */
class PoolerTest extends PoolerContract {
  @Override
  PgBouncer startPooler() {
    return PgBouncer.keepingNoStatements(PrivateServer.shared());
  }

  @Override
  int losses() {
    return 3;
  }

  @Override
  int mostKept(int texts) {
    return 3;
  }
}
