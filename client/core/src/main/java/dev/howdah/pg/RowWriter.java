package dev.howdah.pg;

import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;

/** Writes rows in some notation to a stream while they come, in pieces of 32 KiB. */
final class RowWriter implements Harvest<Long>, RowSink {
  private static final int CHUNK = 1 << 15;

  private final RowNotation.Factory factory;
  private final OutputStream target;
  private final WireOutput buffer;
  private RowNotation notation;
  private long count;

  /** A writer of its own; the buffer holds what was not yet written to the stream. */
  RowWriter(RowNotation.Factory factory, OutputStream target, WireOutput buffer) {
    this.factory = factory;
    this.target = target;
    this.buffer = buffer;
    buffer.clear();
  }

  @Override
  public RowSink begin(Shape shape) {
    notation = factory.of(shape);
    return this;
  }

  private void next(byte[] bytes, int start) {
    if (count == 0) {
      notation.begin(buffer);
    }
    notation.row(bytes, start, count++ == 0, buffer);
    if (buffer.size() >= CHUNK) {
      flush();
    }
  }

  @Override
  public void row(Wire wire) {
    next(wire.body(), wire.offset());
  }

  /** Writes the rows of a segment. */
  void segment(Segment segment) {
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
  @Override
  public Long end(String tag) {
    if (notation == null) {
      notation = factory.of(Shape.NO_ROWS);
    }
    if (count == 0) {
      notation.begin(buffer);
    }
    notation.end(buffer);
    flush();
    return count;
  }
}
