package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;

/** Rows as objects or maps: each value behind its column's name. The names are written once, for all rows. */
abstract class LabelledRows {
  private final Codec[] codecs;
  private final byte[][] labels;

  /** The labels with all that stands between them and the value before. */
  LabelledRows(Shape shape, byte[][] labels) {
    this.codecs = shape.codecs;
    this.labels = labels;
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

  /** Writes rows between brackets to a stream. */
  final RowWriter to(java.io.OutputStream target, char between) {
    return new RowWriter(target) {
      @Override
      void begin(WireOutput out) {
        out.int1('[');
      }

      @Override
      void row(byte[] bytes, int start, boolean first, WireOutput out) {
        if (!first) {
          out.int1(between);
        }
        LabelledRows.this.row(bytes, start, out);
      }

      @Override
      void end(WireOutput out) {
        out.int1(']');
      }
    };
  }
}
