package dev.howdah.pg;

import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;

/** Writes rows in some notation to a stream while they come, in pieces of 32 KiB. */
abstract class RowWriter implements RowSink {
  private static final int CHUNK = 1 << 15;

  private final OutputStream target;
  private final WireOutput buffer = new WireOutput(CHUNK + (CHUNK >> 2));
  private long count;

  RowWriter(OutputStream target) {
    this.target = target;
  }

  /** What stands in front of the first row. */
  abstract void begin(WireOutput out);

  /** Writes one row, which begins at a position; it is the first or not. */
  abstract void row(byte[] bytes, int start, boolean first, WireOutput out);

  /** What stands behind the last row. */
  abstract void end(WireOutput out);

  private void next(byte[] bytes, int start) {
    if (count == 0) {
      begin(buffer);
    }
    row(bytes, start, count++ == 0, buffer);
    if (buffer.size() >= CHUNK) {
      flush();
    }
  }

  @Override
  public final void row(Wire wire) {
    next(wire.body(), wire.offset());
  }

  /** Writes the rows of a segment. */
  final void segment(Segment segment) {
    for (int i = 0; i < segment.size(); i++) {
      next(segment.bytes, segment.start(i));
    }
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
  final long finish() {
    if (count == 0) {
      begin(buffer);
    }
    end(buffer);
    flush();
    return count;
  }

  /** Makes the writer of a statement's rows once their shape is known. */
  @FunctionalInterface
  interface Factory {
    RowWriter writer(Shape shape, OutputStream target);
  }
}
