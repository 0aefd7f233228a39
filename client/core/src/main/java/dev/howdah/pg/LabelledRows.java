package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;

/**
 * Rows as objects or maps: each value behind its column's name. The names are written once, for all
 * rows.
 */
abstract class LabelledRows implements RowNotation {
  private final Codec[] codecs;
  private final byte[][] labels;
  private final char between;

  /**
   * The labels with all that stands between them and the value before, and what stands between
   * rows.
   */
  LabelledRows(Shape shape, byte[][] labels, char between) {
    this.codecs = shape.codecs;
    this.labels = labels;
    this.between = between;
  }

  abstract void nothing(WireOutput out);

  abstract void value(Codec codec, byte[] bytes, int offset, int length, WireOutput out);

  /** Writes the row that begins at a position. */
  final void row(byte[] bytes, int start, WireOutput out) {
    int at = start + 2;
    if (codecs.length == 0) {
      out.int1('{');
    }
    for (int i = 0; i < codecs.length; i++) {
      out.bytes(labels[i]);
      int length = BigEndian.int4(bytes, at);
      at += 4;
      if (length < 0) {
        nothing(out);
      } else {
        value(codecs[i], bytes, at, length, out);
        at += length;
      }
    }
    out.int1('}');
  }

  @Override
  public final void begin(WireOutput out) {
    out.int1('[');
  }

  @Override
  public final void row(byte[] bytes, int start, boolean first, WireOutput out) {
    if (!first) {
      out.int1(between);
    }
    row(bytes, start, out);
  }

  @Override
  public final void end(WireOutput out) {
    out.int1(']');
  }
}
