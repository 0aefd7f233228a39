package dev.howdah.pg.jdbc;

import dev.howdah.pg.Portal;
import dev.howdah.pg.Result;
import dev.howdah.pg.Row;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * Where a result set stands in its rows, which are all there or come from a portal some at a time.
 */
final class RowPosition {
  private final JdbcConnection connection;

  /** Whose rows these are, so that it can be cancelled while more are fetched; null for none. */
  private final JdbcStatement statement;

  private final boolean scrolls;
  private final long most;
  private List<Row> rows;
  private Portal portal;

  /** How many rows came before the ones at hand. */
  private long passed;

  /** The index in the rows at hand: -1 before the first, their number after the last. */
  private int index = -1;

  private Row row;

  /**
   * A position before the first row.
   *
   * @param changeable whether rows may be replaced; then all are at hand
   * @param most the most rows to show; 0 for all
   */
  RowPosition(
      JdbcConnection connection,
      JdbcStatement statement,
      Answer answer,
      boolean scrolls,
      boolean changeable,
      long most) {
    this.connection = connection;
    this.statement = statement;
    this.rows = changeable ? new ArrayList<>(answer.rows()) : answer.rows();
    this.portal = answer.portal();
    this.scrolls = scrolls;
    this.most = most;
  }

  /** The row it stands on. */
  Row row() throws SQLException {
    if (row == null) {
      throw SqlErrors.error(
          "24000",
          index < 0
              ? "the result set stands before its first row; call next() first"
              : "the result set stands behind its last row");
    }
    return row;
  }

  Row rowOrNull() {
    return row;
  }

  boolean next() throws SQLException {
    if (index < rows.size()) {
      index++;
    }
    if (index >= rows.size() && portal != null) {
      fetch();
    }
    if (most > 0 && passed + index >= most) {
      index = rows.size();
      closePortal();
    }
    return arrive();
  }

  private void fetch() throws SQLException {
    List<Row> more = connection.run(statement, portal::fetch);
    if (!more.isEmpty()) {
      passed += rows.size();
      rows = more;
      index = 0;
    }
    if (!portal.hasMore()) {
      portal = null;
    }
  }

  private boolean arrive() {
    boolean on = index >= 0 && index < rows.size();
    row = !on ? null : rows instanceof Result result ? result.passing(index) : rows.get(index);
    return on;
  }

  private void checkScrolls() throws SQLException {
    if (!scrolls) {
      throw SqlErrors.error(
          "24000", "the result set goes forward only; ask for TYPE_SCROLL_INSENSITIVE");
    }
  }

  /** Moves to a row counted from 1, or from the end if negative; 0 is before the first. */
  boolean absolute(long number) throws SQLException {
    checkScrolls();
    long wanted = number >= 0 ? number - 1 : rows.size() + number;
    index = (int) Math.max(-1, Math.min(rows.size(), wanted));
    return arrive();
  }

  boolean relative(int distance) throws SQLException {
    checkScrolls();
    index = (int) Math.max(-1, Math.min(rows.size(), (long) index + distance));
    return arrive();
  }

  void afterLast() throws SQLException {
    checkScrolls();
    index = rows.size();
    arrive();
  }

  /** The number of the current row from 1 on, or 0. */
  long number() {
    return row == null ? 0 : passed + index + 1;
  }

  boolean isBeforeFirst() {
    return index < 0 && !rows.isEmpty();
  }

  boolean isAfterLast() {
    return index >= rows.size() && passed + rows.size() > 0;
  }

  boolean isLast() throws SQLException {
    if (row == null || index + 1 < rows.size()) {
      return false;
    }
    if (portal == null) {
      return true;
    }
    // Whether more follow only the server knows; the row stays current.
    Row current = row;
    int size = rows.size();
    List<Row> more = connection.run(statement, portal::fetch);
    if (!portal.hasMore()) {
      portal = null;
    }
    if (more.isEmpty()) {
      return true;
    }
    passed += size - 1;
    List<Row> joined = new ArrayList<>(more.size() + 1);
    joined.add(current);
    joined.addAll(more);
    rows = joined;
    index = 0;
    return false;
  }

  /** Shows another row in place of the current one. */
  void replace(Row changed) {
    rows.set(index, changed);
    arrive();
  }

  /** Shows a row behind all others. */
  void append(Row added) {
    rows.add(added);
  }

  /** Takes the current row out, and stands on the one before it. */
  void remove() {
    rows.remove(index--);
    arrive();
  }

  /** Gives up what was not read. */
  void release() {
    rows = List.of();
    row = null;
    closePortal();
  }

  private void closePortal() {
    Portal rest = portal;
    portal = null;
    if (rest != null && connection.core.isOpen()) {
      rest.close();
    }
  }
}
