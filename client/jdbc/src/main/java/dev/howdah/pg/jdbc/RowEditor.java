package dev.howdah.pg.jdbc;

import dev.howdah.pg.Row;
import dev.howdah.pg.Shape;
import java.sql.SQLException;

/**
 * What is changed through a result set: the new values for the row it stands on or for one to be
 * inserted, until they are sent.
 */
final class RowEditor {
  private final JdbcConnection connection;
  private final JdbcStatement statement;
  private final Shape shape;
  private final JdbcType[] types;
  private final RowPosition position;
  private SourceTable table;
  private PendingRow pending;
  private boolean inserting;

  RowEditor(
      JdbcConnection connection,
      JdbcStatement statement,
      Shape shape,
      JdbcType[] types,
      RowPosition position) {
    this.connection = connection;
    this.statement = statement;
    this.shape = shape;
    this.types = types;
    this.position = position;
  }

  /** The table that the rows come from, which is looked up with the first change. */
  private SourceTable table() throws SQLException {
    if (table == null) {
      table = SourceTable.of(connection, statement, shape);
    }
    return table;
  }

  ParameterSetters pending(int column) throws SQLException {
    if (column < 1 || column > types.length) {
      throw SqlErrors.error(
          "07009",
          "there is no column " + column + "; there are " + types.length + ", counted from 1");
    }
    table().checkColumn(column);
    if (!inserting) {
      position.row();
    }
    if (pending == null) {
      pending = new PendingRow(connection, types);
    }
    return pending;
  }

  /** Whether it stands on the row to be inserted. */
  boolean isInserting() {
    return inserting;
  }

  void checkOnRow() throws SQLException {
    if (inserting) {
      throw SqlErrors.error(
          "24000",
          "the result set stands on the row to be inserted; call moveToCurrentRow() first");
    }
  }

  /** Forgets what was not sent, and the row to be inserted. */
  void leave() {
    pending = null;
    inserting = false;
  }

  void cancel() throws SQLException {
    table();
    checkOnRow();
    pending = null;
  }

  void moveToInsertRow() throws SQLException {
    table();
    pending = null;
    inserting = true;
  }

  /** Inserts the row, which then is the last; one more can be inserted behind it. */
  void insert() throws SQLException {
    if (!inserting) {
      throw SqlErrors.error(
          "24000",
          "the result set does not stand on the row to be inserted; call moveToInsertRow() first");
    }
    PendingRow row = pending == null ? new PendingRow(connection, types) : pending;
    position.append(table().insert(row.values()));
    pending = null;
  }

  void update() throws SQLException {
    checkOnRow();
    Row row = position.row();
    SourceTable changed = table();
    if (pending != null) {
      position.replace(changed.update(row, pending.values()));
      pending = null;
    }
  }

  void delete() throws SQLException {
    checkOnRow();
    table().delete(position.row());
    position.remove();
    pending = null;
  }

  void refresh() throws SQLException {
    checkOnRow();
    position.replace(table().read(position.row()));
    pending = null;
  }
}
