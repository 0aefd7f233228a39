package dev.howdah.pg.jdbc;

import java.io.InputStream;
import java.io.Reader;
import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Date;
import java.sql.NClob;
import java.sql.Ref;
import java.sql.RowId;
import java.sql.SQLException;
import java.sql.SQLType;
import java.sql.SQLXML;
import java.sql.Time;
import java.sql.Timestamp;

/**
 * Takes new values for columns that are named by label; the label is looked up and the value taken
 * by number.
 */
abstract class UpdatesByLabel extends UpdatesByIndex {
  @Override
  public final void updateNull(String label) throws SQLException {
    updateNull(findColumn(label));
  }

  @Override
  public final void updateBoolean(String label, boolean value) throws SQLException {
    updateBoolean(findColumn(label), value);
  }

  @Override
  public final void updateByte(String label, byte value) throws SQLException {
    updateByte(findColumn(label), value);
  }

  @Override
  public final void updateShort(String label, short value) throws SQLException {
    updateShort(findColumn(label), value);
  }

  @Override
  public final void updateInt(String label, int value) throws SQLException {
    updateInt(findColumn(label), value);
  }

  @Override
  public final void updateLong(String label, long value) throws SQLException {
    updateLong(findColumn(label), value);
  }

  @Override
  public final void updateFloat(String label, float value) throws SQLException {
    updateFloat(findColumn(label), value);
  }

  @Override
  public final void updateDouble(String label, double value) throws SQLException {
    updateDouble(findColumn(label), value);
  }

  @Override
  public final void updateBigDecimal(String label, BigDecimal value) throws SQLException {
    updateBigDecimal(findColumn(label), value);
  }

  @Override
  public final void updateString(String label, String value) throws SQLException {
    updateString(findColumn(label), value);
  }

  @Override
  public final void updateBytes(String label, byte[] value) throws SQLException {
    updateBytes(findColumn(label), value);
  }

  @Override
  public final void updateDate(String label, Date value) throws SQLException {
    updateDate(findColumn(label), value);
  }

  @Override
  public final void updateTime(String label, Time value) throws SQLException {
    updateTime(findColumn(label), value);
  }

  @Override
  public final void updateTimestamp(String label, Timestamp value) throws SQLException {
    updateTimestamp(findColumn(label), value);
  }

  @Override
  public final void updateAsciiStream(String label, InputStream value, int length)
      throws SQLException {
    updateAsciiStream(findColumn(label), value, length);
  }

  @Override
  public final void updateBinaryStream(String label, InputStream value, int length)
      throws SQLException {
    updateBinaryStream(findColumn(label), value, length);
  }

  @Override
  public final void updateCharacterStream(String label, Reader value, int length)
      throws SQLException {
    updateCharacterStream(findColumn(label), value, length);
  }

  @Override
  public final void updateObject(String label, Object value, int scale) throws SQLException {
    updateObject(findColumn(label), value, scale);
  }

  @Override
  public final void updateObject(String label, Object value) throws SQLException {
    updateObject(findColumn(label), value);
  }

  @Override
  public final void updateRef(String label, Ref value) throws SQLException {
    updateRef(findColumn(label), value);
  }

  @Override
  public final void updateBlob(String label, Blob value) throws SQLException {
    updateBlob(findColumn(label), value);
  }

  @Override
  public final void updateClob(String label, Clob value) throws SQLException {
    updateClob(findColumn(label), value);
  }

  @Override
  public final void updateArray(String label, Array value) throws SQLException {
    updateArray(findColumn(label), value);
  }

  @Override
  public final void updateRowId(String label, RowId value) throws SQLException {
    updateRowId(findColumn(label), value);
  }

  @Override
  public final void updateNString(String label, String value) throws SQLException {
    updateNString(findColumn(label), value);
  }

  @Override
  public final void updateNClob(String label, NClob value) throws SQLException {
    updateNClob(findColumn(label), value);
  }

  @Override
  public final void updateSQLXML(String label, SQLXML value) throws SQLException {
    updateSQLXML(findColumn(label), value);
  }

  @Override
  public final void updateNCharacterStream(String label, Reader value, long length)
      throws SQLException {
    updateNCharacterStream(findColumn(label), value, length);
  }

  @Override
  public final void updateAsciiStream(String label, InputStream value, long length)
      throws SQLException {
    updateAsciiStream(findColumn(label), value, length);
  }

  @Override
  public final void updateBinaryStream(String label, InputStream value, long length)
      throws SQLException {
    updateBinaryStream(findColumn(label), value, length);
  }

  @Override
  public final void updateCharacterStream(String label, Reader value, long length)
      throws SQLException {
    updateCharacterStream(findColumn(label), value, length);
  }

  @Override
  public final void updateBlob(String label, InputStream value, long length) throws SQLException {
    updateBlob(findColumn(label), value, length);
  }

  @Override
  public final void updateClob(String label, Reader value, long length) throws SQLException {
    updateClob(findColumn(label), value, length);
  }

  @Override
  public final void updateNClob(String label, Reader value, long length) throws SQLException {
    updateNClob(findColumn(label), value, length);
  }

  @Override
  public final void updateNCharacterStream(String label, Reader value) throws SQLException {
    updateNCharacterStream(findColumn(label), value);
  }

  @Override
  public final void updateAsciiStream(String label, InputStream value) throws SQLException {
    updateAsciiStream(findColumn(label), value);
  }

  @Override
  public final void updateBinaryStream(String label, InputStream value) throws SQLException {
    updateBinaryStream(findColumn(label), value);
  }

  @Override
  public final void updateCharacterStream(String label, Reader value) throws SQLException {
    updateCharacterStream(findColumn(label), value);
  }

  @Override
  public final void updateBlob(String label, InputStream value) throws SQLException {
    updateBlob(findColumn(label), value);
  }

  @Override
  public final void updateClob(String label, Reader value) throws SQLException {
    updateClob(findColumn(label), value);
  }

  @Override
  public final void updateNClob(String label, Reader value) throws SQLException {
    updateNClob(findColumn(label), value);
  }

  @Override
  public final void updateObject(String label, Object value, SQLType type, int scale)
      throws SQLException {
    updateObject(findColumn(label), value, type, scale);
  }

  @Override
  public final void updateObject(String label, Object value, SQLType type) throws SQLException {
    updateObject(findColumn(label), value, type);
  }
}
