package dev.howdah.pg;

import java.util.function.Function;

/** The transactions of a connection: begun, ended, and nested as savepoints. */
final class Transactions {
  /** How often a statement that takes work back is sent, where cancels hit it. */
  private static final int TRIES = 3;

  private final Connection connection;
  private int savepoints;

  Transactions(Connection connection) {
    this.connection = connection;
  }

  void begin(TransactionOptions options) {
    if (connection.inTransaction()) {
      throw new PgException(
          "25001", "a transaction is already begun; transaction(...) nests by savepoints");
    }
    connection.command(options.begin());
  }

  void commit() {
    boolean failed = connection.transactionFailed();
    boolean sendable = connection.isOpen();
    try {
      connection.command("COMMIT");
    } catch (ConnectionException e) {
      throw failed || !sendable ? e : ConnectionException.duringCommit(e);
    }
    if (failed) {
      throw new PgException("25P02", "the transaction had failed, so the commit rolled it back");
    }
  }

  void rollback() {
    takeBack("ROLLBACK");
  }

  /**
   * Runs what takes work back. An interrupt does not cancel it, as the interrupt is most often why
   * it runs; a cancel of another thread that hits it was meant for the statement before, so it runs
   * again.
   */
  private void takeBack(String sql) {
    for (int tries = 1; ; tries++) {
      try {
        connection.commandToItsEnd(sql);
        return;
      } catch (PgException e) {
        if (!e.sqlState().equals("57014") || tries == TRIES || !connection.isOpen()) {
          throw e;
        }
      }
    }
  }

  /**
   * Runs work in a transaction, or in a savepoint of the one that is begun. The thread has the
   * connection alone.
   */
  <T> T run(TransactionOptions options, Function<Connection, T> work) {
    boolean nested = connection.inTransaction();
    String savepoint = "howdah_" + ++savepoints;
    connection.command(nested ? "SAVEPOINT " + savepoint : options.begin());
    return ended(options, work, nested ? savepoint : null);
  }

  private <T> T ended(TransactionOptions options, Function<Connection, T> work, String savepoint) {
    try {
      T value = work.apply(connection.ofTransaction());
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
        connection.abandon();
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
      takeBack(
          savepoint == null
              ? "ROLLBACK"
              : "ROLLBACK TO SAVEPOINT " + savepoint + "; RELEASE SAVEPOINT " + savepoint);
    }
  }
}
