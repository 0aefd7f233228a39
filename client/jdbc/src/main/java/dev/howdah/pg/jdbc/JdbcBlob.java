package dev.howdah.pg.jdbc;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.sql.Blob;
import java.sql.SQLException;
import java.util.Arrays;

/**
 * Bytes as JDBC has them: those of a large object, of which a part is read at a time, or some in
 * memory. Positions count from 1.
 */
final class JdbcBlob implements Blob {
  /** How many bytes go over the wire at once. */
  static final int CHUNK = 1 << 18;

  private LobStore store;

  JdbcBlob(LobStore store) {
    this.store = store;
  }

  private LobStore store() throws SQLException {
    if (store == null) {
      throw SqlErrors.error("55000", "the Blob was freed");
    }
    return store;
  }

  static long offset(long position) throws SQLException {
    if (position < 1) {
      throw SqlErrors.error("22023", "positions count from 1; there is no " + position);
    }
    return position - 1;
  }

  static void checkLength(long length) throws SQLException {
    if (length < 0) {
      throw SqlErrors.error("22023", "a length is 0 or more, not " + length);
    }
  }

  @Override
  public long length() throws SQLException {
    return store().length();
  }

  @Override
  public byte[] getBytes(long position, int length) throws SQLException {
    checkLength(length);
    return store().read(offset(position), length);
  }

  @Override
  public InputStream getBinaryStream() throws SQLException {
    return new Reading(store(), 0, Long.MAX_VALUE);
  }

  @Override
  public InputStream getBinaryStream(long position, long length) throws SQLException {
    checkLength(length);
    return new Reading(store(), offset(position), length);
  }

  @Override
  public long position(byte[] pattern, long start) throws SQLException {
    long from = offset(start);
    LobStore bytes = store();
    if (pattern.length == 0) {
      return from <= bytes.length() ? start : -1;
    }
    byte[] window = bytes.read(from, Math.max(CHUNK, pattern.length));
    while (window.length >= pattern.length) {
      int found = indexOf(window, pattern);
      if (found >= 0) {
        return from + found + 1;
      }
      // What is sought may lie across the end of the window.
      from += window.length - pattern.length + 1;
      window = bytes.read(from, Math.max(CHUNK, 2 * pattern.length));
    }
    return -1;
  }

  private static int indexOf(byte[] whole, byte[] part) {
    for (int at = 0; at + part.length <= whole.length; at++) {
      if (Arrays.equals(whole, at, at + part.length, part, 0, part.length)) {
        return at;
      }
    }
    return -1;
  }

  @Override
  public long position(Blob pattern, long start) throws SQLException {
    return position(pattern.getBytes(1, Math.toIntExact(pattern.length())), start);
  }

  @Override
  public int setBytes(long position, byte[] bytes) throws SQLException {
    store().write(offset(position), bytes);
    return bytes.length;
  }

  @Override
  public int setBytes(long position, byte[] bytes, int from, int length) throws SQLException {
    return setBytes(position, Arrays.copyOfRange(bytes, from, from + length));
  }

  @Override
  public OutputStream setBinaryStream(long position) throws SQLException {
    return new Writing(store(), offset(position));
  }

  @Override
  public void truncate(long length) throws SQLException {
    checkLength(length);
    store().truncate(length);
  }

  @Override
  public void free() {
    store = null;
  }

  /** Reads a part at a time. */
  private static final class Reading extends InputStream {
    private final LobStore store;
    private long next;
    private long rest;
    private byte[] part = {};
    private int at;

    Reading(LobStore store, long from, long length) {
      this.store = store;
      this.next = from;
      this.rest = length;
    }

    private boolean hasMore() throws IOException {
      if (at == part.length && rest > 0) {
        try {
          part = store.read(next, (int) Math.min(CHUNK, rest));
        } catch (SQLException e) {
          throw new IOException(e.getMessage(), e);
        }
        at = 0;
        next += part.length;
        rest = part.length == 0 ? 0 : rest - part.length;
      }
      return at < part.length;
    }

    @Override
    public int read() throws IOException {
      return hasMore() ? part[at++] & 0xff : -1;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      } else if (!hasMore()) {
        return -1;
      }
      int count = Math.min(length, part.length - at);
      System.arraycopy(part, at, into, offset, count);
      at += count;
      return count;
    }

    @Override
    public int available() {
      return part.length - at;
    }
  }

  /** Writes a part at a time; what is left is written when it is flushed or closed. */
  private static final class Writing extends OutputStream {
    private final LobStore store;
    private final ByteArrayOutputStream part = new ByteArrayOutputStream();
    private long next;

    Writing(LobStore store, long from) {
      this.store = store;
      this.next = from;
    }

    @Override
    public void write(int value) throws IOException {
      part.write(value);
      flushIfFull();
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      part.write(bytes, offset, length);
      flushIfFull();
    }

    private void flushIfFull() throws IOException {
      if (part.size() >= CHUNK) {
        flush();
      }
    }

    @Override
    public void flush() throws IOException {
      if (part.size() > 0) {
        try {
          store.write(next, part.toByteArray());
        } catch (SQLException e) {
          throw new IOException(e.getMessage(), e);
        }
        next += part.size();
        part.reset();
      }
    }

    @Override
    public void close() throws IOException {
      flush();
    }
  }
}
