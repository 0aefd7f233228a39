package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Writes rows as CSV from their bytes, as the server's COPY does. */
final class CsvRows implements RowNotation {
  private final Shape shape;

  CsvRows(Shape shape) {
    this.shape = shape;
  }

  @Override
  public void begin(WireOutput out) {
    for (int i = 0; i < shape.size(); i++) {
      if (i > 0) {
        out.int1(',');
      }
      int start = out.size();
      out.bytes(shape.columns().get(i).name().getBytes(StandardCharsets.UTF_8));
      quoteFrom(start, out);
    }
    if (shape.size() > 0) {
      out.int1('\n');
    }
  }

  @Override
  public void row(byte[] bytes, int from, boolean first, WireOutput out) {
    Codec[] codecs = shape.codecs;
    int at = from + 2;
    for (int i = 0; i < codecs.length; i++) {
      if (i > 0) {
        out.int1(',');
      }
      int length = BigEndian.int4(bytes, at);
      at += 4;
      if (length >= 0) {
        int start = out.size();
        codecs[i].text(bytes, at, length, out);
        quoteFrom(start, out);
        at += length;
      }
    }
    out.int1('\n');
  }

  @Override
  public void end(WireOutput out) {
    // The last row has its line's end.
  }

  /**
   * Quotes what was written from a position on where that is needed; an empty text is, to differ
   * from null.
   */
  private void quoteFrom(int start, WireOutput buffer) {
    if (!needsQuotes(start, buffer)) {
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

  private boolean needsQuotes(int start, WireOutput buffer) {
    byte[] bytes = buffer.array();
    int end = buffer.size();
    if (start == end) {
      return true;
    }
    // A line of \. alone ends COPY's data, so a single column that holds it is quoted.
    if (shape.size() == 1 && end - start == 2 && bytes[start] == '\\' && bytes[start + 1] == '.') {
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
}
