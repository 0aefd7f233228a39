package dev.howdah.pg;

import java.util.function.Function;

/** The transactions of a connection: begun, ended, and nested as savepoints. */
final class Transactions {
  private final Connection connection;
  private int savepoints;

  Transactions(Connection connection) {
    this.connection = connection;
  }

  void begin(TransactionOptions options) {
    if (connection.inTransaction()) {
      throw new PgException("25001", "a transaction is already begun; transaction(...) nests by savepoints");
    }
    connection.command(options.begin());
  }

  void commit() {
    boolean failed = connection.transactionFailed();
    connection.command("COMMIT");
    if (failed) {
      throw new PgException("25P02", "the transaction had failed, so the commit rolled it back");
    }
  }

  void rollback() {
    connection.command("ROLLBACK");
  }

  /** Runs work in a transaction, or in a savepoint of the one that is begun. The thread has the connection alone. */
  <T> T run(TransactionOptions options, Function<Connection, T> work) {
    boolean nested = connection.inTransaction();
    String savepoint = "howdah_" + ++savepoints;
    connection.command(nested ? "SAVEPOINT " + savepoint : options.begin());
    return ended(options, work, nested ? savepoint : null);
  }

  private <T> T ended(TransactionOptions options, Function<Connection, T> work, String savepoint) {
    try {
      T value = work.apply(connection);
      if (options.rollback()) {
        undo(savepoint);
      } else {
        keep(savepoint);
      }
      return value;
    } catch (Throwable e) {
      try {
        undo(savepoint);
      } catch (PgException other) {
        e.addSuppressed(other);
      }
      throw e;
    }
  }

  private void keep(String savepoint) {
    if (!connection.inTransaction()) {
      return;
    }
    if (savepoint == null) {
      commit();
    } else {
      connection.command("RELEASE SAVEPOINT " + savepoint);
    }
  }

  private void undo(String savepoint) {
    if (connection.isOpen() && connection.inTransaction()) {
      connection.command(savepoint == null ? "ROLLBACK" : "ROLLBACK TO SAVEPOINT " + savepoint + "; RELEASE SAVEPOINT " + savepoint);
    }
  }
}
