package dev.howdah.pg.jdbc;

import java.sql.SQLException;
import java.util.Arrays;

/** The bytes of a bytea, or of a Blob that is not sent yet. */
final class MemoryLob implements LobStore {
  private byte[] bytes;

  MemoryLob(byte[] bytes) {
    this.bytes = bytes;
  }

  @Override
  public long length() {
    return bytes.length;
  }

  @Override
  public byte[] read(long offset, int length) {
    int from = (int) Math.min(bytes.length, offset);
    return Arrays.copyOfRange(bytes, from, (int) Math.min(bytes.length, (long) from + length));
  }

  @Override
  public void write(long offset, byte[] more) throws SQLException {
    long end = offset + more.length;
    if (end > Integer.MAX_VALUE - 8) {
      throw SqlErrors.error(
          "22001", "a bytea of " + end + " bytes is larger than PostgreSQL takes");
    }
    if (end > bytes.length) {
      bytes = Arrays.copyOf(bytes, (int) end);
    }
    System.arraycopy(more, 0, bytes, (int) offset, more.length);
  }

  @Override
  public void truncate(long length) {
    bytes = Arrays.copyOf(bytes, (int) Math.min(bytes.length, length));
  }
}
