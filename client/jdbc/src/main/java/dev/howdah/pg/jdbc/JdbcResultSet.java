package dev.howdah.pg.jdbc;

import dev.howdah.pg.Result;
import dev.howdah.pg.Row;
import dev.howdah.pg.Shape;
import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Blob;
import java.sql.Date;
import java.sql.NClob;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Calendar;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** Rows as JDBC has them, decoded when a getter asks. Columns count from 1. */
final class JdbcResultSet extends LeastResultSet {
  private final JdbcConnection connection;
  private final JdbcStatement statement;
  private final ResultSetKind kind;
  private final Shape shape;
  private final JdbcType[] types;
  private final RowPosition position;

  /** What changes rows, or null. */
  private final RowEditor editor;

  private Map<String, Integer> labels;
  private boolean wasNull;
  private int fetchSize;
  private volatile boolean closed;

  /** The rows of an answer, of a statement or of none. */
  JdbcResultSet(JdbcConnection connection, JdbcStatement statement, Answer answer) {
    this(
        connection,
        statement,
        answer,
        statement == null ? ResultSetKind.AT_HAND : statement.kind(),
        statement == null ? 0 : statement.mostRows());
  }

  private JdbcResultSet(
      JdbcConnection connection,
      JdbcStatement statement,
      Answer answer,
      ResultSetKind kind,
      long most) {
    this.connection = connection;
    this.statement = statement;
    this.kind = kind;
    this.shape = answer.shape();
    this.types =
        shape.columns().stream()
            .map(column -> JdbcType.of(column.codec().name()))
            .toArray(JdbcType[]::new);
    this.position =
        new RowPosition(connection, statement, answer, kind.scrolls(), kind.updatable(), most);
    this.editor =
        kind.updatable() ? new RowEditor(connection, statement, shape, types, position) : null;
    this.fetchSize = statement == null ? 0 : statement.fetches();
  }

  static JdbcResultSet detached(JdbcConnection connection, Result result) {
    return new JdbcResultSet(connection, null, Answer.of(result));
  }

  @Override
  void checkOpen() throws SQLException {
    if (isClosed()) {
      throw SqlErrors.error("24000", "the result set is closed");
    }
  }

  /** Checks a column and notes whether it is null. */
  private boolean isNull(int column) throws SQLException {
    checkOpen();
    if (editor != null) {
      editor.checkOnRow();
    }
    Row row = position.row();
    if (column < 1 || column > types.length) {
      throw SqlErrors.error(
          "07009",
          "there is no column " + column + "; there are " + types.length + ", counted from 1");
    }
    wasNull = row.isNull(column - 1);
    return wasNull;
  }

  /** Reads a cell that is not null. */
  private interface Reading<T> {
    T read(Row row, int column, JdbcType type) throws SQLException;
  }

  private <T> T read(int column, Reading<T> reading) throws SQLException {
    if (isNull(column)) {
      return null;
    }
    return SqlErrors.translated(() -> reading.read(position.row(), column - 1, types[column - 1]));
  }

  @Override
  public String getString(int column) throws SQLException {
    return read(column, (row, index, type) -> row.getString(index));
  }

  @Override
  public boolean getBoolean(int column) throws SQLException {
    return !isNull(column)
        && SqlErrors.translated(() -> Cells.bool(position.row(), column - 1, types[column - 1]));
  }

  private long whole(int column, long least, long greatest, String wanted) throws SQLException {
    return isNull(column)
        ? 0
        : SqlErrors.translated(
            () ->
                Cells.whole(
                    position.row(), column - 1, types[column - 1], least, greatest, wanted));
  }

  @Override
  public byte getByte(int column) throws SQLException {
    return (byte) whole(column, Byte.MIN_VALUE, Byte.MAX_VALUE, "a byte");
  }

  @Override
  public short getShort(int column) throws SQLException {
    return (short) whole(column, Short.MIN_VALUE, Short.MAX_VALUE, "a short");
  }

  @Override
  public int getInt(int column) throws SQLException {
    return (int) whole(column, Integer.MIN_VALUE, Integer.MAX_VALUE, "an int");
  }

  @Override
  public long getLong(int column) throws SQLException {
    return whole(column, Long.MIN_VALUE, Long.MAX_VALUE, "a long");
  }

  @Override
  public float getFloat(int column) throws SQLException {
    return (float) floating(column, "a float");
  }

  @Override
  public double getDouble(int column) throws SQLException {
    return floating(column, "a double");
  }

  private double floating(int column, String wanted) throws SQLException {
    return isNull(column)
        ? 0
        : SqlErrors.translated(
            () -> Cells.floating(position.row(), column - 1, types[column - 1], wanted));
  }

  @Override
  public BigDecimal getBigDecimal(int column) throws SQLException {
    return read(column, (row, index, type) -> Cells.decimal(row, index, type, "a BigDecimal"));
  }

  @Override
  public byte[] getBytes(int column) throws SQLException {
    return read(column, Cells::bytes);
  }

  @Override
  public Date getDate(int column, Calendar calendar) throws SQLException {
    return read(column, (row, index, type) -> ObjectConversion.date(row, index, type, calendar));
  }

  @Override
  public Time getTime(int column, Calendar calendar) throws SQLException {
    return read(column, (row, index, type) -> ObjectConversion.time(row, index, type, calendar));
  }

  @Override
  public Timestamp getTimestamp(int column, Calendar calendar) throws SQLException {
    return read(
        column, (row, index, type) -> ObjectConversion.timestamp(row, index, type, calendar));
  }

  @Override
  public Object getObject(int column) throws SQLException {
    return read(
        column, (row, index, type) -> ObjectConversion.standard(row, index, type, connection));
  }

  @Override
  public <T> T getObject(int column, Class<T> wanted) throws SQLException {
    if (wanted == null) {
      throw SqlErrors.error("22023", "getObject needs a class");
    }
    return read(
        column, (row, index, type) -> ObjectConversion.to(row, index, type, wanted, connection));
  }

  @Override
  public Blob getBlob(int column) throws SQLException {
    return read(column, (row, index, type) -> Lobs.blob(row, index, type, connection));
  }

  @Override
  public NClob getNClob(int column) throws SQLException {
    return read(column, (row, index, type) -> Lobs.clob(row, index, type, connection));
  }

  @Override
  public Array getArray(int column) throws SQLException {
    return read(column, (row, index, type) -> JdbcArray.read(row, index, connection));
  }

  @Override
  public boolean wasNull() throws SQLException {
    checkOpen();
    return wasNull;
  }

  /** The first column of a label, as it is written or else without regard to case. */
  @Override
  public int findColumn(String label) throws SQLException {
    checkOpen();
    int exact = label == null ? -1 : shape.indexOf(label);
    if (exact >= 0) {
      return exact + 1;
    }
    if (labels == null) {
      labels = new HashMap<>();
      for (int i = 0; i < types.length; i++) {
        labels.putIfAbsent(shape.columns().get(i).name().toLowerCase(Locale.ROOT), i + 1);
      }
    }
    Integer found = label == null ? null : labels.get(label.toLowerCase(Locale.ROOT));
    if (found == null) {
      throw SqlErrors.error(
          "42703",
          "there is no column "
              + label
              + "; there are "
              + shape.columns().stream().map(dev.howdah.pg.Column::name).toList());
    }
    return found;
  }

  private void beforeStep() throws SQLException {
    if (editor != null) {
      editor.checkOnRow();
      editor.leave();
    }
  }

  private void beforeJump() {
    if (editor != null) {
      editor.leave();
    }
  }

  private RowEditor editor() throws SQLException {
    checkOpen();
    if (editor == null) {
      throw SqlErrors.error("24000", "the result set is read-only; ask for CONCUR_UPDATABLE");
    }
    return editor;
  }

  @Override
  ParameterSetters pending(int column) throws SQLException {
    return editor().pending(column);
  }

  @Override
  public void insertRow() throws SQLException {
    editor().insert();
  }

  @Override
  public void updateRow() throws SQLException {
    editor().update();
  }

  @Override
  public void deleteRow() throws SQLException {
    editor().delete();
  }

  @Override
  public void refreshRow() throws SQLException {
    editor().refresh();
  }

  @Override
  public void cancelRowUpdates() throws SQLException {
    editor().cancel();
  }

  @Override
  public void moveToInsertRow() throws SQLException {
    editor().moveToInsertRow();
  }

  @Override
  public void moveToCurrentRow() throws SQLException {
    editor().leave();
  }

  @Override
  public int getConcurrency() throws SQLException {
    checkOpen();
    return kind.concurrency();
  }

  @Override
  public boolean next() throws SQLException {
    checkOpen();
    beforeStep();
    return position.next();
  }

  @Override
  public boolean absolute(int number) throws SQLException {
    checkOpen();
    beforeJump();
    return position.absolute(number);
  }

  @Override
  public boolean relative(int distance) throws SQLException {
    checkOpen();
    beforeStep();
    return position.relative(distance);
  }

  @Override
  public void afterLast() throws SQLException {
    checkOpen();
    beforeJump();
    position.afterLast();
  }

  @Override
  public boolean isBeforeFirst() throws SQLException {
    checkOpen();
    return position.isBeforeFirst();
  }

  @Override
  public boolean isAfterLast() throws SQLException {
    checkOpen();
    return position.isAfterLast();
  }

  @Override
  public boolean isFirst() throws SQLException {
    checkOpen();
    return position.number() == 1;
  }

  @Override
  public boolean isLast() throws SQLException {
    checkOpen();
    return position.isLast();
  }

  @Override
  public int getRow() throws SQLException {
    checkOpen();
    return editor != null && editor.isInserting()
        ? 0
        : (int) Math.min(Integer.MAX_VALUE, position.number());
  }

  @Override
  public ResultSetMetaData getMetaData() throws SQLException {
    checkOpen();
    return new JdbcResultSetMetaData(connection, shape);
  }

  @Override
  public Statement getStatement() throws SQLException {
    checkOpen();
    return statement;
  }

  /** A hint that comes too late: rows come as many at a time as the statement said. */
  @Override
  public void setFetchSize(int rows) throws SQLException {
    checkOpen();
    fetchSize = rows;
  }

  @Override
  public int getFetchSize() throws SQLException {
    checkOpen();
    return fetchSize;
  }

  @Override
  public int getType() throws SQLException {
    checkOpen();
    return kind.type();
  }

  @Override
  public int getHoldability() throws SQLException {
    checkOpen();
    return kind.holdability();
  }

  /** Closes it because its statement does something else. */
  void release() throws SQLException {
    if (!closed) {
      closed = true;
      SqlErrors.translated(
          () -> {
            position.release();
            return null;
          });
    }
  }

  @Override
  public void close() throws SQLException {
    if (!closed) {
      release();
      if (statement != null) {
        statement.completed();
      }
    }
  }

  /** Also when its connection is closed, although its rows are all here: JDBC has it so. */
  @Override
  public boolean isClosed() {
    return closed || (statement == null ? connection.isClosed() : statement.isClosed());
  }

  @Override
  public <T> T unwrap(Class<T> wanted) throws SQLException {
    return SqlErrors.unwrap(wanted, this, position.rowOrNull());
  }

  @Override
  public boolean isWrapperFor(Class<?> wanted) {
    return wanted.isInstance(this) || wanted.isInstance(position.rowOrNull());
  }
}
