package dev.howdah.pg.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * What kind of result sets a statement makes.
 *
 * @param scrolls whether they can be read in any order
 * @param held whether they outlive the transaction, so that they are read whole
 * @param updatable whether rows can be changed through them; they are read whole, too
 */
record ResultSetKind(boolean scrolls, boolean held, boolean updatable) {
  static final ResultSetKind STANDARD = new ResultSetKind(false, false, false);

  /** The kind of those that are made of rows at hand. */
  static final ResultSetKind AT_HAND = new ResultSetKind(true, true, false);

  /** The kind that JDBC's three numbers mean. */
  static ResultSetKind of(int type, int concurrency, int holdability) throws SQLException {
    if (type == ResultSet.TYPE_SCROLL_SENSITIVE) {
      throw SqlErrors.unsupported(
          "a result set that shows later changes", "ask for TYPE_SCROLL_INSENSITIVE");
    }
    boolean known =
        (type == ResultSet.TYPE_FORWARD_ONLY || type == ResultSet.TYPE_SCROLL_INSENSITIVE)
            && (concurrency == ResultSet.CONCUR_READ_ONLY
                || concurrency == ResultSet.CONCUR_UPDATABLE)
            && (holdability == ResultSet.HOLD_CURSORS_OVER_COMMIT
                || holdability == ResultSet.CLOSE_CURSORS_AT_COMMIT);
    if (!known) {
      throw SqlErrors.error(
          "22023",
          "there is no result set of type "
              + type
              + ", concurrency "
              + concurrency
              + " and holdability "
              + holdability);
    }
    return new ResultSetKind(
        type == ResultSet.TYPE_SCROLL_INSENSITIVE,
        holdability == ResultSet.HOLD_CURSORS_OVER_COMMIT,
        concurrency == ResultSet.CONCUR_UPDATABLE);
  }

  int type() {
    return scrolls ? ResultSet.TYPE_SCROLL_INSENSITIVE : ResultSet.TYPE_FORWARD_ONLY;
  }

  int concurrency() {
    return updatable ? ResultSet.CONCUR_UPDATABLE : ResultSet.CONCUR_READ_ONLY;
  }

  int holdability() {
    return held ? ResultSet.HOLD_CURSORS_OVER_COMMIT : ResultSet.CLOSE_CURSORS_AT_COMMIT;
  }
}
