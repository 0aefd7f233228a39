package dev.howdah.pg.jdbc;

import dev.howdah.pg.Connection;
import dev.howdah.pg.ServerMessage;

/**
 * Which statement runs on a connection now, so that its warnings reach it, and a cancel hits it and
 * no other: while a cancel is on its way, the statement's end waits.
 */
final class Execution {
  private final Warnings warnings = new Warnings();
  private volatile JdbcStatement running;

  /** How many cancels are on their way. */
  private int cancelling;

  /** A statement begins to run; null is the connection itself. */
  synchronized void begin(JdbcStatement statement) {
    running = statement;
  }

  /** The statement has ended. Returns when no cancel is on its way any more. */
  synchronized void end() {
    boolean interrupted = false;
    while (cancelling > 0) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    running = null;
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Cancels a statement if it runs; returns whether it did. The server is waited for without the
   * monitor, which a statement's start takes.
   */
  boolean cancel(JdbcStatement statement, Connection connection) {
    synchronized (this) {
      if (running != statement) {
        return false;
      }
      cancelling++;
    }
    try {
      return connection.cancel();
    } finally {
      synchronized (this) {
        cancelling--;
        notifyAll();
      }
    }
  }

  /** Takes a notice, on the thread that reads the connection. */
  void notice(ServerMessage notice) {
    JdbcStatement statement = running;
    (statement == null ? warnings : statement.warnings()).add(notice);
  }

  /** The warnings that belong to no statement. */
  Warnings warnings() {
    return warnings;
  }
}
