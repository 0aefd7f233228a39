package dev.howdah.pg.jdbc;

import java.io.InputStream;
import java.io.Reader;
import java.math.BigDecimal;
import java.net.URL;
import java.sql.Array;
import java.sql.Blob;
import java.sql.CallableStatement;
import java.sql.Clob;
import java.sql.Date;
import java.sql.NClob;
import java.sql.Ref;
import java.sql.RowId;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLXML;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Calendar;
import java.util.Map;

/**
 * Parameters of calls by name, which PostgreSQL's protocol has not: all are refused, as by its own
 * driver.
 */
abstract class CallNames extends JdbcPreparedStatement implements CallableStatement {
  CallNames(JdbcConnection connection, ResultSetKind kind, ParsedSql parsed) {
    super(connection, kind, parsed, null);
  }

  private static SQLFeatureNotSupportedException byName() {
    return SqlErrors.unsupported("a parameter by name", "use its number, from 1");
  }

  @Override
  public void registerOutParameter(String name, int value) throws SQLException {
    throw byName();
  }

  @Override
  public void registerOutParameter(String name, int value, int more) throws SQLException {
    throw byName();
  }

  @Override
  public void registerOutParameter(String name, int value, String more) throws SQLException {
    throw byName();
  }

  @Override
  public void setURL(String name, URL value) throws SQLException {
    throw byName();
  }

  @Override
  public void setNull(String name, int value) throws SQLException {
    throw byName();
  }

  @Override
  public void setBoolean(String name, boolean value) throws SQLException {
    throw byName();
  }

  @Override
  public void setByte(String name, byte value) throws SQLException {
    throw byName();
  }

  @Override
  public void setShort(String name, short value) throws SQLException {
    throw byName();
  }

  @Override
  public void setInt(String name, int value) throws SQLException {
    throw byName();
  }

  @Override
  public void setLong(String name, long value) throws SQLException {
    throw byName();
  }

  @Override
  public void setFloat(String name, float value) throws SQLException {
    throw byName();
  }

  @Override
  public void setDouble(String name, double value) throws SQLException {
    throw byName();
  }

  @Override
  public void setBigDecimal(String name, BigDecimal value) throws SQLException {
    throw byName();
  }

  @Override
  public void setString(String name, String value) throws SQLException {
    throw byName();
  }

  @Override
  public void setBytes(String name, byte[] value) throws SQLException {
    throw byName();
  }

  @Override
  public void setDate(String name, Date value) throws SQLException {
    throw byName();
  }

  @Override
  public void setTime(String name, Time value) throws SQLException {
    throw byName();
  }

  @Override
  public void setTimestamp(String name, Timestamp value) throws SQLException {
    throw byName();
  }

  @Override
  public void setAsciiStream(String name, InputStream value, int more) throws SQLException {
    throw byName();
  }

  @Override
  public void setBinaryStream(String name, InputStream value, int more) throws SQLException {
    throw byName();
  }

  @Override
  public void setObject(String name, Object value, int more, int last) throws SQLException {
    throw byName();
  }

  @Override
  public void setObject(String name, Object value, int more) throws SQLException {
    throw byName();
  }

  @Override
  public void setObject(String name, Object value) throws SQLException {
    throw byName();
  }

  @Override
  public void setCharacterStream(String name, Reader value, int more) throws SQLException {
    throw byName();
  }

  @Override
  public void setDate(String name, Date value, Calendar more) throws SQLException {
    throw byName();
  }

  @Override
  public void setTime(String name, Time value, Calendar more) throws SQLException {
    throw byName();
  }

  @Override
  public void setTimestamp(String name, Timestamp value, Calendar more) throws SQLException {
    throw byName();
  }

  @Override
  public void setNull(String name, int value, String more) throws SQLException {
    throw byName();
  }

  @Override
  public String getString(String name) throws SQLException {
    throw byName();
  }

  @Override
  public boolean getBoolean(String name) throws SQLException {
    throw byName();
  }

  @Override
  public byte getByte(String name) throws SQLException {
    throw byName();
  }

  @Override
  public short getShort(String name) throws SQLException {
    throw byName();
  }

  @Override
  public int getInt(String name) throws SQLException {
    throw byName();
  }

  @Override
  public long getLong(String name) throws SQLException {
    throw byName();
  }

  @Override
  public float getFloat(String name) throws SQLException {
    throw byName();
  }

  @Override
  public double getDouble(String name) throws SQLException {
    throw byName();
  }

  @Override
  public byte[] getBytes(String name) throws SQLException {
    throw byName();
  }

  @Override
  public Date getDate(String name) throws SQLException {
    throw byName();
  }

  @Override
  public Time getTime(String name) throws SQLException {
    throw byName();
  }

  @Override
  public Timestamp getTimestamp(String name) throws SQLException {
    throw byName();
  }

  @Override
  public Object getObject(String name) throws SQLException {
    throw byName();
  }

  @Override
  public BigDecimal getBigDecimal(String name) throws SQLException {
    throw byName();
  }

  @Override
  public Object getObject(String name, Map<String, Class<?>> value) throws SQLException {
    throw byName();
  }

  @Override
  public Ref getRef(String name) throws SQLException {
    throw byName();
  }

  @Override
  public Blob getBlob(String name) throws SQLException {
    throw byName();
  }

  @Override
  public Clob getClob(String name) throws SQLException {
    throw byName();
  }

  @Override
  public Array getArray(String name) throws SQLException {
    throw byName();
  }

  @Override
  public Date getDate(String name, Calendar value) throws SQLException {
    throw byName();
  }

  @Override
  public Time getTime(String name, Calendar value) throws SQLException {
    throw byName();
  }

  @Override
  public Timestamp getTimestamp(String name, Calendar value) throws SQLException {
    throw byName();
  }

  @Override
  public URL getURL(String name) throws SQLException {
    throw byName();
  }

  @Override
  public RowId getRowId(String name) throws SQLException {
    throw byName();
  }

  @Override
  public void setRowId(String name, RowId value) throws SQLException {
    throw byName();
  }

  @Override
  public void setNString(String name, String value) throws SQLException {
    throw byName();
  }

  @Override
  public void setNCharacterStream(String name, Reader value, long more) throws SQLException {
    throw byName();
  }

  @Override
  public void setNClob(String name, NClob value) throws SQLException {
    throw byName();
  }

  @Override
  public void setClob(String name, Reader value, long more) throws SQLException {
    throw byName();
  }

  @Override
  public void setBlob(String name, InputStream value, long more) throws SQLException {
    throw byName();
  }

  @Override
  public void setNClob(String name, Reader value, long more) throws SQLException {
    throw byName();
  }

  @Override
  public NClob getNClob(String name) throws SQLException {
    throw byName();
  }

  @Override
  public void setSQLXML(String name, SQLXML value) throws SQLException {
    throw byName();
  }

  @Override
  public SQLXML getSQLXML(String name) throws SQLException {
    throw byName();
  }

  @Override
  public String getNString(String name) throws SQLException {
    throw byName();
  }

  @Override
  public Reader getNCharacterStream(String name) throws SQLException {
    throw byName();
  }

  @Override
  public Reader getCharacterStream(String name) throws SQLException {
    throw byName();
  }

  @Override
  public void setBlob(String name, Blob value) throws SQLException {
    throw byName();
  }

  @Override
  public void setClob(String name, Clob value) throws SQLException {
    throw byName();
  }

  @Override
  public void setAsciiStream(String name, InputStream value, long more) throws SQLException {
    throw byName();
  }

  @Override
  public void setBinaryStream(String name, InputStream value, long more) throws SQLException {
    throw byName();
  }

  @Override
  public void setCharacterStream(String name, Reader value, long more) throws SQLException {
    throw byName();
  }

  @Override
  public void setAsciiStream(String name, InputStream value) throws SQLException {
    throw byName();
  }

  @Override
  public void setBinaryStream(String name, InputStream value) throws SQLException {
    throw byName();
  }

  @Override
  public void setCharacterStream(String name, Reader value) throws SQLException {
    throw byName();
  }

  @Override
  public void setNCharacterStream(String name, Reader value) throws SQLException {
    throw byName();
  }

  @Override
  public void setClob(String name, Reader value) throws SQLException {
    throw byName();
  }

  @Override
  public void setBlob(String name, InputStream value) throws SQLException {
    throw byName();
  }

  @Override
  public void setNClob(String name, Reader value) throws SQLException {
    throw byName();
  }

  @Override
  public <T> T getObject(String name, Class<T> value) throws SQLException {
    throw byName();
  }
}
