package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.wire.WireOutput;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/** Rows of values as the data of COPY. */
final class RowSource implements Copy.Source {
  private static final byte[] HEADER = {
    'P', 'G', 'C', 'O', 'P', 'Y', '\n', (byte) 0xff, '\r', '\n', 0, 0, 0, 0, 0, 0, 0, 0, 0
  };

  /** Rows that come slowly are sent after so many nanoseconds. */
  private static final long LONGEST_COLLECTION = 10_000_000;

  private final CopyFormat format;
  private final Codec[] codecs;
  private final Iterator<? extends List<?>> rows;
  private final WireOutput out = new WireOutput(1 << 12);
  private int sent;
  private boolean ended;

  private RowSource(CopyFormat format, Codec[] codecs, Iterator<? extends List<?>> rows) {
    this.format = format;
    this.codecs = codecs;
    this.rows = rows;
    if (format == CopyFormat.BINARY) {
      out.bytes(HEADER);
    }
  }

  /**
   * Rows whose columns are of the types of these names. COPY does not say what the types are, so
   * the caller must.
   */
  static RowSource of(
      Executor executor,
      CopyFormat format,
      List<String> types,
      Iterable<? extends List<?>> rows,
      Options options) {
    if (types.isEmpty()) {
      throw new PgException("22023", "the types of the columns must be named");
    }
    List<String> columns = new ArrayList<>();
    for (String type : types) {
      columns.add("null::" + type);
    }
    // Preparing a statement that returns these types is how their numbers and their codecs become
    // known.
    Result described =
        executor.query(
            "select " + String.join(", ", columns) + " limit 0",
            new Object[0],
            Options.DEFAULT.timeout(options.timeout()));
    Codec[] codecs = new Codec[types.size()];
    for (int i = 0; i < codecs.length; i++) {
      codecs[i] = format.codec(described.columns().get(i).codec(), Integer.toString(i));
    }
    return new RowSource(format, codecs, rows.iterator());
  }

  @Override
  public int read(byte[] buffer, int offset, int length) {
    if (sent == out.size()) {
      out.clear();
      sent = 0;
      collect(length);
    }
    int count = Math.min(length, out.size() - sent);
    if (count == 0) {
      return -1;
    }
    System.arraycopy(out.array(), sent, buffer, offset, count);
    sent += count;
    return count;
  }

  /**
   * Writes rows until there are so many bytes: a write of the socket for each row would cost more
   * than the row.
   */
  private void collect(int bytes) {
    long end = System.nanoTime() + LONGEST_COLLECTION;
    while (out.size() < bytes && !ended && (out.size() == 0 || System.nanoTime() - end < 0)) {
      if (rows.hasNext()) {
        write(rows.next());
      } else {
        end();
      }
    }
  }

  private void write(List<?> row) {
    if (row == null) {
      throw new PgException(
          "22004", "a row is null, where a list of " + codecs.length + " values is wanted");
    }
    if (row.size() != codecs.length) {
      throw new PgException(
          "22023",
          "a row of " + row.size() + " values, where " + codecs.length + " types are named");
    }
    if (format == CopyFormat.BINARY) {
      writeBinary(row);
    } else {
      writeText(row);
    }
  }

  private void end() {
    if (format == CopyFormat.BINARY) {
      out.int2(-1);
    }
    ended = true;
  }

  private void writeBinary(List<?> row) {
    out.int2(codecs.length);
    for (int i = 0; i < codecs.length; i++) {
      Object value = row.get(i);
      if (value == null) {
        out.int4(-1);
        continue;
      }
      int start = out.reserveInt4();
      codecs[i].encode(value instanceof String text ? codecs[i].parse(text) : value, out);
      out.storeLength(start);
    }
  }

  private void writeText(List<?> row) {
    boolean csv = format == CopyFormat.CSV;
    for (int i = 0; i < codecs.length; i++) {
      if (i > 0) {
        out.int1(csv ? ',' : '\t');
      }
      Object value = row.get(i);
      if (value == null) {
        out.text(csv ? "" : "\\N");
        continue;
      }
      String text = value instanceof String string ? string : codecs[i].format(value);
      if (csv) {
        CopyFormat.quote(text, out);
      } else {
        CopyFormat.escape(text, out);
      }
    }
    out.int1('\n');
  }
}
