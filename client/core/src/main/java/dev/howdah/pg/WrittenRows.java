package dev.howdah.pg;

import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;

/** Writes a statement's rows in some notation into memory, straight from the wire. */
final class WrittenRows implements Harvest<byte[]>, RowSink {
  private final RowNotation.Factory factory;
  private final WireOutput buffer;
  private RowNotation notation;
  private boolean first;

  /** The buffer is used from {@link #begin} to {@link #end}. */
  WrittenRows(RowNotation.Factory factory, WireOutput buffer) {
    this.factory = factory;
    this.buffer = buffer;
  }

  @Override
  public RowSink begin(Shape shape) {
    notation = factory.of(shape);
    buffer.clear();
    notation.begin(buffer);
    first = true;
    return this;
  }

  @Override
  public void row(Wire wire) {
    notation.row(wire.body(), wire.offset(), first, buffer);
    first = false;
  }

  @Override
  public void drop() {
    buffer.clear();
  }

  @Override
  public byte[] end(String tag) {
    if (notation == null) {
      begin(Shape.NO_ROWS);
    }
    notation.end(buffer);
    byte[] written = buffer.toByteArray();
    buffer.clear();
    return written;
  }
}
