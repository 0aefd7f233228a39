package dev.howdah.pg.jdbc;

import java.sql.SQLException;

/** Where the bytes of a Blob are. Offsets count from 0. */
interface LobStore {
  long length() throws SQLException;

  /** So many bytes from an offset on, or as many as there are. */
  byte[] read(long offset, int length) throws SQLException;

  /** Writes bytes over what is there and beyond; what lies between is filled with zeros. */
  void write(long offset, byte[] bytes) throws SQLException;

  void truncate(long length) throws SQLException;
}
