package dev.howdah.pg.jdbc;

import java.io.InputStream;
import java.io.Reader;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.sql.Array;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Date;
import java.sql.NClob;
import java.sql.Ref;
import java.sql.ResultSet;
import java.sql.RowId;
import java.sql.SQLException;
import java.sql.SQLType;
import java.sql.SQLXML;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;

/**
 * Takes new values for columns that are named by number, each as a parameter of a statement is
 * taken.
 */
abstract class UpdatesByIndex implements ResultSet {
  /**
   * Where the new value of a column goes, which becomes part of the row that is changed or
   * inserted.
   */
  abstract ParameterSetters pending(int column) throws SQLException;

  @Override
  public final void updateNull(int column) throws SQLException {
    pending(column).setNull(column, Types.NULL);
  }

  @Override
  public final void updateBoolean(int column, boolean value) throws SQLException {
    pending(column).setBoolean(column, value);
  }

  @Override
  public final void updateByte(int column, byte value) throws SQLException {
    pending(column).setByte(column, value);
  }

  @Override
  public final void updateShort(int column, short value) throws SQLException {
    pending(column).setShort(column, value);
  }

  @Override
  public final void updateInt(int column, int value) throws SQLException {
    pending(column).setInt(column, value);
  }

  @Override
  public final void updateLong(int column, long value) throws SQLException {
    pending(column).setLong(column, value);
  }

  @Override
  public final void updateFloat(int column, float value) throws SQLException {
    pending(column).setFloat(column, value);
  }

  @Override
  public final void updateDouble(int column, double value) throws SQLException {
    pending(column).setDouble(column, value);
  }

  @Override
  public final void updateBigDecimal(int column, BigDecimal value) throws SQLException {
    pending(column).setBigDecimal(column, value);
  }

  @Override
  public final void updateString(int column, String value) throws SQLException {
    pending(column).setString(column, value);
  }

  @Override
  public final void updateBytes(int column, byte[] value) throws SQLException {
    pending(column).setBytes(column, value);
  }

  @Override
  public final void updateDate(int column, Date value) throws SQLException {
    pending(column).setDate(column, value);
  }

  @Override
  public final void updateTime(int column, Time value) throws SQLException {
    pending(column).setTime(column, value);
  }

  @Override
  public final void updateTimestamp(int column, Timestamp value) throws SQLException {
    pending(column).setTimestamp(column, value);
  }

  @Override
  public final void updateAsciiStream(int column, InputStream value, int length)
      throws SQLException {
    pending(column).setAsciiStream(column, value, length);
  }

  @Override
  public final void updateBinaryStream(int column, InputStream value, int length)
      throws SQLException {
    pending(column).setBinaryStream(column, value, length);
  }

  @Override
  public final void updateCharacterStream(int column, Reader value, int length)
      throws SQLException {
    pending(column).setCharacterStream(column, value, length);
  }

  @Override
  public final void updateObject(int column, Object value, int scale) throws SQLException {
    Object scaled =
        value instanceof BigDecimal number ? number.setScale(scale, RoundingMode.HALF_UP) : value;
    pending(column).setObject(column, scaled);
  }

  @Override
  public final void updateObject(int column, Object value) throws SQLException {
    pending(column).setObject(column, value);
  }

  @Override
  public final void updateRef(int column, Ref value) throws SQLException {
    pending(column).setRef(column, value);
  }

  @Override
  public final void updateBlob(int column, Blob value) throws SQLException {
    pending(column).setBlob(column, value);
  }

  @Override
  public final void updateClob(int column, Clob value) throws SQLException {
    pending(column).setClob(column, value);
  }

  @Override
  public final void updateArray(int column, Array value) throws SQLException {
    pending(column).setArray(column, value);
  }

  @Override
  public final void updateRowId(int column, RowId value) throws SQLException {
    pending(column).setRowId(column, value);
  }

  @Override
  public final void updateNString(int column, String value) throws SQLException {
    pending(column).setNString(column, value);
  }

  @Override
  public final void updateNClob(int column, NClob value) throws SQLException {
    pending(column).setNClob(column, value);
  }

  @Override
  public final void updateSQLXML(int column, SQLXML value) throws SQLException {
    pending(column).setSQLXML(column, value);
  }

  @Override
  public final void updateNCharacterStream(int column, Reader value, long length)
      throws SQLException {
    pending(column).setNCharacterStream(column, value, length);
  }

  @Override
  public final void updateAsciiStream(int column, InputStream value, long length)
      throws SQLException {
    pending(column).setAsciiStream(column, value, length);
  }

  @Override
  public final void updateBinaryStream(int column, InputStream value, long length)
      throws SQLException {
    pending(column).setBinaryStream(column, value, length);
  }

  @Override
  public final void updateCharacterStream(int column, Reader value, long length)
      throws SQLException {
    pending(column).setCharacterStream(column, value, length);
  }

  @Override
  public final void updateBlob(int column, InputStream value, long length) throws SQLException {
    pending(column).setBlob(column, value, length);
  }

  @Override
  public final void updateClob(int column, Reader value, long length) throws SQLException {
    pending(column).setClob(column, value, length);
  }

  @Override
  public final void updateNClob(int column, Reader value, long length) throws SQLException {
    pending(column).setNClob(column, value, length);
  }

  @Override
  public final void updateNCharacterStream(int column, Reader value) throws SQLException {
    pending(column).setNCharacterStream(column, value);
  }

  @Override
  public final void updateAsciiStream(int column, InputStream value) throws SQLException {
    pending(column).setAsciiStream(column, value);
  }

  @Override
  public final void updateBinaryStream(int column, InputStream value) throws SQLException {
    pending(column).setBinaryStream(column, value);
  }

  @Override
  public final void updateCharacterStream(int column, Reader value) throws SQLException {
    pending(column).setCharacterStream(column, value);
  }

  @Override
  public final void updateBlob(int column, InputStream value) throws SQLException {
    pending(column).setBlob(column, value);
  }

  @Override
  public final void updateClob(int column, Reader value) throws SQLException {
    pending(column).setClob(column, value);
  }

  @Override
  public final void updateNClob(int column, Reader value) throws SQLException {
    pending(column).setNClob(column, value);
  }

  @Override
  public final void updateObject(int column, Object value, SQLType type, int scale)
      throws SQLException {
    pending(column).setObject(column, value, type, scale);
  }

  @Override
  public final void updateObject(int column, Object value, SQLType type) throws SQLException {
    pending(column).setObject(column, value, type);
  }
}
