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

/** Refuses what would change rows, for columns that are named by label. */
abstract class ReadOnlyByLabel extends ReadOnlyByIndex {
  @Override
  public final void updateNull(String column) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateBoolean(String column, boolean value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateByte(String column, byte value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateShort(String column, short value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateInt(String column, int value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateLong(String column, long value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateFloat(String column, float value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateDouble(String column, double value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateBigDecimal(String column, BigDecimal value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateString(String column, String value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateBytes(String column, byte[] value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateDate(String column, Date value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateTime(String column, Time value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateTimestamp(String column, Timestamp value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateAsciiStream(String column, InputStream value, int length) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateBinaryStream(String column, InputStream value, int length) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateCharacterStream(String column, Reader value, int length) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateObject(String column, Object value, int type) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateObject(String column, Object value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateRef(String column, Ref value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateBlob(String column, Blob value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateClob(String column, Clob value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateArray(String column, Array value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateRowId(String column, RowId value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateNString(String column, String value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateNClob(String column, NClob value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateSQLXML(String column, SQLXML value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateNCharacterStream(String column, Reader value, long length) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateAsciiStream(String column, InputStream value, long length) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateBinaryStream(String column, InputStream value, long length) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateCharacterStream(String column, Reader value, long length) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateBlob(String column, InputStream value, long length) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateClob(String column, Reader value, long length) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateNClob(String column, Reader value, long length) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateNCharacterStream(String column, Reader value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateAsciiStream(String column, InputStream value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateBinaryStream(String column, InputStream value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateCharacterStream(String column, Reader value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateBlob(String column, InputStream value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateClob(String column, Reader value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateNClob(String column, Reader value) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateObject(String column, Object value, SQLType type, int length) throws SQLException {
    throw readOnly();
  }

  @Override
  public final void updateObject(String column, Object value, SQLType type) throws SQLException {
    throw readOnly();
  }
}
