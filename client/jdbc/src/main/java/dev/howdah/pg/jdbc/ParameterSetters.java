package dev.howdah.pg.jdbc;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.Reader;
import java.io.StringReader;
import java.math.BigDecimal;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Date;
import java.sql.NClob;
import java.sql.PreparedStatement;
import java.sql.Ref;
import java.sql.RowId;
import java.sql.SQLException;
import java.sql.SQLType;
import java.sql.SQLXML;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.Calendar;

/** JDBC's many ways to set a parameter, each of which comes down to one. */
abstract class ParameterSetters extends JdbcStatement implements PreparedStatement {
  ParameterSetters(JdbcConnection connection, ResultSetKind kind) {
    super(connection, kind);
  }

  /** Sets a parameter; the first has index 1. */
  abstract void set(int index, Parameter parameter) throws SQLException;

  /** Whether the server expects the number of a large object as a parameter. */
  abstract boolean takesLargeObject(int index) throws SQLException;

  @Override
  public void setNull(int index, int type) throws SQLException {
    String declared = JdbcType.ofNull(type);
    set(index, declared == null ? Parameter.NULL : new Parameter(null, declared, declared));
  }

  @Override
  public void setNull(int index, int type, String name) throws SQLException {
    setNull(index, type);
  }

  @Override
  public void setBoolean(int index, boolean value) throws SQLException {
    set(index, Parameter.of(value));
  }

  @Override
  public void setByte(int index, byte value) throws SQLException {
    set(index, Parameter.of(value));
  }

  @Override
  public void setShort(int index, short value) throws SQLException {
    set(index, Parameter.of(value));
  }

  @Override
  public void setInt(int index, int value) throws SQLException {
    set(index, Parameter.of(value));
  }

  @Override
  public void setLong(int index, long value) throws SQLException {
    set(index, Parameter.of(value));
  }

  @Override
  public void setFloat(int index, float value) throws SQLException {
    set(index, Parameter.of(value));
  }

  @Override
  public void setDouble(int index, double value) throws SQLException {
    set(index, Parameter.of(value));
  }

  @Override
  public void setBigDecimal(int index, BigDecimal value) throws SQLException {
    set(index, value == null ? new Parameter(null, "numeric", "numeric") : Parameter.of(value));
  }

  @Override
  public void setString(int index, String value) throws SQLException {
    set(index, Parameter.of(value));
  }

  @Override
  public void setNString(int index, String value) throws SQLException {
    setString(index, value);
  }

  @Override
  public void setBytes(int index, byte[] value) throws SQLException {
    // The statement may run later, and the caller may reuse the array.
    set(index, Parameter.of(value == null ? null : value.clone()));
  }

  @Override
  public void setDate(int index, Date value) throws SQLException {
    setDate(index, value, null);
  }

  @Override
  public void setTime(int index, Time value) throws SQLException {
    setTime(index, value, null);
  }

  @Override
  public void setTimestamp(int index, Timestamp value) throws SQLException {
    setTimestamp(index, value, null);
  }

  @Override
  public void setDate(int index, Date value, Calendar calendar) throws SQLException {
    set(index, Parameter.ofDate(value, calendar));
  }

  @Override
  public void setTime(int index, Time value, Calendar calendar) throws SQLException {
    set(index, Parameter.ofDate(value, calendar));
  }

  @Override
  public void setTimestamp(int index, Timestamp value, Calendar calendar) throws SQLException {
    set(index, Parameter.ofDate(value, calendar));
  }

  @Override
  public void setArray(int index, Array value) throws SQLException {
    if (value instanceof JdbcArray || value == null) {
      set(index, Parameter.of(value));
    } else {
      set(
          index,
          Parameter.of(
              connection.createArrayOf(value.getBaseTypeName(), (Object[]) value.getArray())));
    }
  }

  @Override
  public void setURL(int index, URL value) throws SQLException {
    setString(index, value == null ? null : value.toString());
  }

  @Override
  public void setObject(int index, Object value) throws SQLException {
    if (value instanceof Array array) {
      setArray(index, array);
    } else if (value instanceof InputStream stream) {
      setBinaryStream(index, stream);
    } else if (value instanceof Reader reader) {
      setCharacterStream(index, reader);
    } else if (value instanceof Blob blob) {
      setBlob(index, blob);
    } else if (value instanceof Clob clob) {
      setClob(index, clob);
    } else {
      set(index, Parameter.of(value));
    }
  }

  @Override
  public void setObject(int index, Object value, int type) throws SQLException {
    setObject(index, value, type, -1);
  }

  @Override
  public void setObject(int index, Object value, int type, int scale) throws SQLException {
    if (value == null) {
      setNull(index, type);
    } else if (type == Types.OTHER) {
      setOther(index, value);
    } else if (type == Types.BLOB && !(value instanceof Blob)) {
      setBlob(
          index,
          value instanceof byte[] bytes
              ? new ByteArrayInputStream(bytes)
              : TargetType.cast(value, InputStream.class));
    } else if ((type == Types.CLOB || type == Types.NCLOB) && !(value instanceof Clob)) {
      setClob(index, value instanceof Reader reader ? reader : new StringReader(value.toString()));
    } else {
      setObject(index, TargetType.convert(value, type, scale));
    }
  }

  /** A value whose type the server is to infer. */
  private void setOther(int index, Object value) throws SQLException {
    if (value instanceof InputStream
        || value instanceof Reader
        || value instanceof Blob
        || value instanceof Clob) {
      setObject(index, value);
    } else {
      set(index, SqlErrors.translated(() -> Parameter.untyped(value)));
    }
  }

  @Override
  public void setObject(int index, Object value, SQLType type) throws SQLException {
    setObject(index, value, type.getVendorTypeNumber());
  }

  @Override
  public void setObject(int index, Object value, SQLType type, int scale) throws SQLException {
    setObject(index, value, type.getVendorTypeNumber(), scale);
  }

  private void bytes(int index, InputStream stream, long length) throws SQLException {
    set(index, Parameter.of(stream == null ? null : Streams.bytes(stream, length)));
  }

  private void characters(int index, Reader reader, long length) throws SQLException {
    setString(index, reader == null ? null : Streams.characters(reader, length));
  }

  @Override
  public void setBinaryStream(int index, InputStream value) throws SQLException {
    bytes(index, value, -1);
  }

  @Override
  public void setBinaryStream(int index, InputStream value, int length) throws SQLException {
    bytes(index, value, length);
  }

  @Override
  public void setBinaryStream(int index, InputStream value, long length) throws SQLException {
    bytes(index, value, length);
  }

  @Override
  public void setAsciiStream(int index, InputStream value) throws SQLException {
    setAsciiStream(index, value, -1L);
  }

  @Override
  public void setAsciiStream(int index, InputStream value, int length) throws SQLException {
    setAsciiStream(index, value, (long) length);
  }

  @Override
  public void setAsciiStream(int index, InputStream value, long length) throws SQLException {
    setString(
        index,
        value == null ? null : new String(Streams.bytes(value, length), StandardCharsets.US_ASCII));
  }

  @Override
  @Deprecated
  public void setUnicodeStream(int index, InputStream value, int length) throws SQLException {
    setString(
        index,
        value == null ? null : new String(Streams.bytes(value, length), StandardCharsets.UTF_8));
  }

  @Override
  public void setCharacterStream(int index, Reader value) throws SQLException {
    characters(index, value, -1);
  }

  @Override
  public void setCharacterStream(int index, Reader value, int length) throws SQLException {
    characters(index, value, length);
  }

  @Override
  public void setCharacterStream(int index, Reader value, long length) throws SQLException {
    characters(index, value, length);
  }

  @Override
  public void setNCharacterStream(int index, Reader value) throws SQLException {
    characters(index, value, -1);
  }

  @Override
  public void setNCharacterStream(int index, Reader value, long length) throws SQLException {
    characters(index, value, length);
  }

  @Override
  public void setBlob(int index, Blob value) throws SQLException {
    setBlob(index, value == null ? null : value.getBinaryStream(), -1);
  }

  @Override
  public void setBlob(int index, InputStream value) throws SQLException {
    setBlob(index, value, -1);
  }

  @Override
  public void setBlob(int index, InputStream value, long length) throws SQLException {
    if (value != null && takesLargeObject(index)) {
      set(index, Lobs.number(connection, value, length));
    } else {
      bytes(index, value, length);
    }
  }

  @Override
  public void setClob(int index, Clob value) throws SQLException {
    setClob(index, value == null ? null : value.getCharacterStream(), -1);
  }

  @Override
  public void setClob(int index, Reader value) throws SQLException {
    setClob(index, value, -1);
  }

  @Override
  public void setClob(int index, Reader value, long length) throws SQLException {
    if (value != null && takesLargeObject(index)) {
      set(index, Lobs.number(connection, Lobs.utf8(Streams.characters(value, length)), -1));
    } else {
      characters(index, value, length);
    }
  }

  @Override
  public void setNClob(int index, NClob value) throws SQLException {
    setClob(index, value);
  }

  @Override
  public void setNClob(int index, Reader value) throws SQLException {
    setClob(index, value, -1);
  }

  @Override
  public void setNClob(int index, Reader value, long length) throws SQLException {
    setClob(index, value, length);
  }

  @Override
  public void setSQLXML(int index, SQLXML value) throws SQLException {
    throw Refusals.xml();
  }

  @Override
  public void setRef(int index, Ref value) throws SQLException {
    throw Refusals.reference();
  }

  @Override
  public void setRowId(int index, RowId value) throws SQLException {
    throw Refusals.rowId();
  }

  private static SQLException wrongCall() {
    return SqlErrors.error(
        "07000", "a prepared statement has its SQL already; call the method without a string");
  }

  @Override
  public java.sql.ResultSet executeQuery(String sql) throws SQLException {
    throw wrongCall();
  }

  @Override
  public boolean execute(String sql) throws SQLException {
    throw wrongCall();
  }

  @Override
  public long executeLargeUpdate(String sql) throws SQLException {
    throw wrongCall();
  }

  @Override
  public void addBatch(String sql) throws SQLException {
    throw wrongCall();
  }

  @Override
  public boolean execute(String sql, int wanted) throws SQLException {
    throw wrongCall();
  }

  @Override
  public boolean execute(String sql, int[] columns) throws SQLException {
    throw wrongCall();
  }

  @Override
  public boolean execute(String sql, String[] columns) throws SQLException {
    throw wrongCall();
  }

  @Override
  public long executeLargeUpdate(String sql, int wanted) throws SQLException {
    throw wrongCall();
  }

  @Override
  public long executeLargeUpdate(String sql, int[] columns) throws SQLException {
    throw wrongCall();
  }

  @Override
  public long executeLargeUpdate(String sql, String[] columns) throws SQLException {
    throw wrongCall();
  }
}
