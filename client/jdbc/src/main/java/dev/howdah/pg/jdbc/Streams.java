package dev.howdah.pg.jdbc;

import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.sql.SQLException;

/** Reads the streams that are given as parameters; a value is sent as a whole. */
final class Streams {
  private Streams() {}

  private static int length(long length) throws SQLException {
    if (length > Integer.MAX_VALUE) {
      throw SqlErrors.error(
          "22001", "a value of " + length + " bytes or characters is larger than PostgreSQL takes");
    }
    return length < 0 ? Integer.MAX_VALUE : (int) length;
  }

  /** The bytes of a stream, or so many of them; a negative length is all. */
  static byte[] bytes(InputStream stream, long length) throws SQLException {
    try {
      byte[] bytes = stream.readNBytes(length(length));
      checkWhole(bytes.length, length);
      return bytes;
    } catch (IOException e) {
      throw failed("stream", e);
    }
  }

  static SQLException failed(String what, IOException error) {
    return SqlErrors.of(
        "the " + what + " of a parameter failed: " + error.getMessage(), "22000", error);
  }

  static String characters(Reader reader, long length) throws SQLException {
    int most = length(length);
    StringBuilder text = new StringBuilder();
    char[] buffer = new char[8192];
    try {
      while (text.length() < most) {
        int count = reader.read(buffer, 0, Math.min(buffer.length, most - text.length()));
        if (count < 0) {
          break;
        }
        text.append(buffer, 0, count);
      }
    } catch (IOException e) {
      throw failed("reader", e);
    }
    checkWhole(text.length(), length);
    return text.toString();
  }

  static void checkWhole(long read, long wanted) throws SQLException {
    if (wanted >= 0 && read < wanted) {
      throw SqlErrors.error(
          "22000",
          "the stream of a parameter ended after " + read + " where " + wanted + " were announced");
    }
  }
}
