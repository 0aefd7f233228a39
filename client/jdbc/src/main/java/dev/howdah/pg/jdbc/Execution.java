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

  /** A statement begins to run; null is the connection itself. */
  synchronized void begin(JdbcStatement statement) {
    running = statement;
  }

  synchronized void end() {
    running = null;
  }

  synchronized boolean cancel(JdbcStatement statement, Connection connection) {
    return running == statement && connection.cancel();
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
