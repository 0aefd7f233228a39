package dev.howdah.pg;

import dev.howdah.pg.json.Json;
import dev.howdah.pg.types.Codec;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;

/**
 * Writes rows as JSON objects from their bytes. The names, with quotes and colon, are made once; json and
 * jsonb are copied as they are. Of columns with one name each is written, as row_to_json does.
 */
final class JsonRows implements RowSink {
  private static final int CHUNK = 1 << 15;

  private final Codec[] codecs;
  private final byte[][] labels;
  private OutputStream target;
  private WireOutput buffer;
  private long count;

  JsonRows(Shape shape) {
    this.codecs = shape.codecs;
    this.labels = new byte[codecs.length][];
    for (int i = 0; i < labels.length; i++) {
      WireOutput label = new WireOutput(32);
      label.int1(i == 0 ? '{' : ',');
      Json.string(shape.columns().get(i).name(), label);
      label.int1(':');
      labels[i] = label.toByteArray();
    }
  }

  /** Rows will be written to a stream, as a JSON array. */
  JsonRows to(OutputStream stream) {
    target = stream;
    buffer = new WireOutput(CHUNK + (CHUNK >> 2));
    buffer.int1('[');
    return this;
  }

  /** Writes one row. */
  void row(byte[] bytes, int start, WireOutput out) {
    int at = start + 2;
    if (codecs.length == 0) {
      out.int1('{');
    }
    for (int i = 0; i < codecs.length; i++) {
      out.bytes(labels[i]);
      int length = BigEndian.int4(bytes, at);
      at += 4;
      if (length < 0) {
        Json.nothing(out);
      } else {
        codecs[i].json(bytes, at, length, out);
        at += length;
      }
    }
    out.int1('}');
  }

  private void next(byte[] bytes, int start) {
    if (count++ > 0) {
      buffer.int1(',');
    }
    row(bytes, start, buffer);
    if (buffer.size() >= CHUNK) {
      flush();
    }
  }

  @Override
  public void row(Wire wire) {
    next(wire.body(), wire.offset());
  }

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

  /** Ends the array; returns the number of rows. */
  long finish() {
    buffer.int1(']');
    flush();
    return count;
  }
}
