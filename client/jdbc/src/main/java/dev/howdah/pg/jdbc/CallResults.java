package dev.howdah.pg.jdbc;

import java.io.Reader;
import java.math.BigDecimal;
import java.net.URL;
import java.sql.Array;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Date;
import java.sql.NClob;
import java.sql.Ref;
import java.sql.ResultSet;
import java.sql.RowId;
import java.sql.SQLException;
import java.sql.SQLXML;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Calendar;
import java.util.Map;

/** JDBC's many ways to read what a call has returned: each reads the column of its one row. */
abstract class CallResults extends CallNames {
  CallResults(JdbcConnection connection, ResultSetKind kind, ParsedSql parsed) {
    super(connection, kind, parsed);
  }

  /** The row that the call has returned. */
  abstract ResultSet result() throws SQLException;

  /** The column of a parameter in that row. */
  abstract int column(int index) throws SQLException;

  @Override
  public String getString(int index) throws SQLException {
    return result().getString(column(index));
  }

  @Override
  public boolean getBoolean(int index) throws SQLException {
    return result().getBoolean(column(index));
  }

  @Override
  public byte getByte(int index) throws SQLException {
    return result().getByte(column(index));
  }

  @Override
  public short getShort(int index) throws SQLException {
    return result().getShort(column(index));
  }

  @Override
  public int getInt(int index) throws SQLException {
    return result().getInt(column(index));
  }

  @Override
  public long getLong(int index) throws SQLException {
    return result().getLong(column(index));
  }

  @Override
  public float getFloat(int index) throws SQLException {
    return result().getFloat(column(index));
  }

  @Override
  public double getDouble(int index) throws SQLException {
    return result().getDouble(column(index));
  }

  @Override
  public byte[] getBytes(int index) throws SQLException {
    return result().getBytes(column(index));
  }

  @Override
  public Date getDate(int index) throws SQLException {
    return result().getDate(column(index));
  }

  @Override
  public Time getTime(int index) throws SQLException {
    return result().getTime(column(index));
  }

  @Override
  public Timestamp getTimestamp(int index) throws SQLException {
    return result().getTimestamp(column(index));
  }

  @Override
  public Object getObject(int index) throws SQLException {
    return result().getObject(column(index));
  }

  @Override
  public BigDecimal getBigDecimal(int index) throws SQLException {
    return result().getBigDecimal(column(index));
  }

  @Override
  public Ref getRef(int index) throws SQLException {
    return result().getRef(column(index));
  }

  @Override
  public Blob getBlob(int index) throws SQLException {
    return result().getBlob(column(index));
  }

  @Override
  public Clob getClob(int index) throws SQLException {
    return result().getClob(column(index));
  }

  @Override
  public Array getArray(int index) throws SQLException {
    return result().getArray(column(index));
  }

  @Override
  public URL getURL(int index) throws SQLException {
    return result().getURL(column(index));
  }

  @Override
  public RowId getRowId(int index) throws SQLException {
    return result().getRowId(column(index));
  }

  @Override
  public NClob getNClob(int index) throws SQLException {
    return result().getNClob(column(index));
  }

  @Override
  public SQLXML getSQLXML(int index) throws SQLException {
    return result().getSQLXML(column(index));
  }

  @Override
  public String getNString(int index) throws SQLException {
    return result().getNString(column(index));
  }

  @Override
  public Reader getNCharacterStream(int index) throws SQLException {
    return result().getNCharacterStream(column(index));
  }

  @Override
  public Reader getCharacterStream(int index) throws SQLException {
    return result().getCharacterStream(column(index));
  }

  @Override
  public Date getDate(int index, Calendar calendar) throws SQLException {
    return result().getDate(column(index), calendar);
  }

  @Override
  public Time getTime(int index, Calendar calendar) throws SQLException {
    return result().getTime(column(index), calendar);
  }

  @Override
  public Timestamp getTimestamp(int index, Calendar calendar) throws SQLException {
    return result().getTimestamp(column(index), calendar);
  }

  @Override
  @Deprecated
  public BigDecimal getBigDecimal(int index, int scale) throws SQLException {
    return result().getBigDecimal(column(index), scale);
  }

  @Override
  public Object getObject(int index, Map<String, Class<?>> types) throws SQLException {
    return result().getObject(column(index), types);
  }

  @Override
  public <T> T getObject(int index, Class<T> type) throws SQLException {
    return result().getObject(column(index), type);
  }

  @Override
  public boolean wasNull() throws SQLException {
    return result().wasNull();
  }
}
