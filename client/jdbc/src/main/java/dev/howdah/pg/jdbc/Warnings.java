package dev.howdah.pg.jdbc;

import dev.howdah.pg.ServerMessage;
import java.sql.SQLWarning;

/**
 * The notices that the server sent for a statement or a connection, as JDBC's chain of warnings.
 */
final class Warnings {
  /** A function can raise notices without end; what comes after this many is dropped. */
  private static final int MOST = 1_000;

  private SQLWarning first;
  private SQLWarning last;
  private int count;

  synchronized void add(ServerMessage notice) {
    if (++count > MOST) {
      return;
    }
    SQLWarning warning = new SQLWarning(notice.describe(null), notice.sqlState());
    if (first == null) {
      first = warning;
    } else {
      last.setNextWarning(warning);
    }
    last = warning;
  }

  synchronized SQLWarning first() {
    return first;
  }

  synchronized void clear() {
    first = null;
    last = null;
    count = 0;
  }
}
