package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Writes rows as CSV from their bytes, as the server's COPY does. */
final class CsvRows implements RowSink {
  private static final int CHUNK = 1 << 15;

  private final Codec[] codecs;
  private final OutputStream target;
  private final WireOutput buffer = new WireOutput(CHUNK + (CHUNK >> 2));
  private long count;

  CsvRows(Shape shape, OutputStream target) {
    this.codecs = shape.codecs;
    this.target = target;
    for (int i = 0; i < codecs.length; i++) {
      if (i > 0) {
        buffer.int1(',');
      }
      int start = buffer.size();
      buffer.bytes(shape.columns().get(i).name().getBytes(StandardCharsets.UTF_8));
      quoteFrom(start);
    }
    if (codecs.length > 0) {
      buffer.int1('\n');
    }
  }

  @Override
  public void row(Wire wire) {
    byte[] bytes = wire.body();
    int at = wire.offset() + 2;
    for (int i = 0; i < codecs.length; i++) {
      if (i > 0) {
        buffer.int1(',');
      }
      int length = BigEndian.int4(bytes, at);
      at += 4;
      if (length >= 0) {
        int start = buffer.size();
        codecs[i].text(bytes, at, length, buffer);
        quoteFrom(start);
        at += length;
      }
    }
    buffer.int1('\n');
    count++;
    if (buffer.size() >= CHUNK) {
      flush();
    }
  }

  /** Quotes what was written from a position on where that is needed; an empty text is, to differ from null. */
  private void quoteFrom(int start) {
    if (!needsQuotes(start)) {
      return;
    }
    byte[] plain = Arrays.copyOfRange(buffer.array(), start, buffer.size());
    buffer.truncate(start);
    buffer.int1('"');
    for (byte b : plain) {
      if (b == '"') {
        buffer.int1('"');
      }
      buffer.int1(b);
    }
    buffer.int1('"');
  }

  private boolean needsQuotes(int start) {
    byte[] bytes = buffer.array();
    int end = buffer.size();
    if (start == end) {
      return true;
    }
    // A line of \. alone ends COPY's data, so a single column that holds it is quoted.
    if (codecs.length == 1 && end - start == 2 && bytes[start] == '\\' && bytes[start + 1] == '.') {
      return true;
    }
    for (int i = start; i < end; i++) {
      byte b = bytes[i];
      if (b == ',' || b == '"' || b == '\n' || b == '\r') {
        return true;
      }
    }
    return false;
  }

  private void flush() {
    try {
      target.write(buffer.array(), 0, buffer.size());
      buffer.clear();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Writes what is left; returns the number of rows. */
  long finish() {
    flush();
    return count;
  }
}
