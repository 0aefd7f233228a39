package dev.howdah.pg.types;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Multiranges as an unchangeable list of {@link Range}. */
final class MultirangeCodec extends Codec {
  private final RangeCodec range;

  MultirangeCodec(String name, RangeCodec range) {
    super(name);
    this.range = range;
  }

  @Override
  public boolean binary() {
    return range.binary();
  }

  @Override
  public boolean cacheable() {
    return range.cacheable();
  }

  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    int count = length < 4 ? -1 : BigEndian.int4(bytes, offset);
    if (count < 0 || count > length / 4) {
      throw broken(length);
    }
    List<Object> ranges = new ArrayList<>(count);
    int end = offset + length;
    int at = offset + 4;
    for (int i = 0; i < count; i++) {
      int size = end - at < 4 ? -1 : BigEndian.int4(bytes, at);
      if (size < 0 || size > end - at - 4) {
        throw broken(length);
      }
      ranges.add(range.decode(bytes, at + 4, size));
      at += 4 + size;
    }
    if (at != end) {
      throw broken(length);
    }
    return Collections.unmodifiableList(ranges);
  }

  @Override
  public void encode(Object value, WireOutput out) {
    if (!(value instanceof List<?> ranges)) {
      throw refuse(value);
    }
    out.int4(ranges.size());
    for (Object item : ranges) {
      int start = out.reserveInt4();
      range.encode(item, out);
      out.storeLength(start);
    }
  }

  @Override
  public void text(byte[] bytes, int offset, int length, WireOutput out) {
    out.text(format(decode(bytes, offset, length)));
  }

  @Override
  public String format(Object value) {
    if (value instanceof String text) {
      return text;
    }
    if (!(value instanceof List<?> ranges)) {
      throw refuse(value);
    }
    StringBuilder text = new StringBuilder("{");
    for (Object item : ranges) {
      text.append(text.length() > 1 ? "," : "").append(range.format(item));
    }
    return text.append('}').toString();
  }

  @Override
  public Object parse(String text) {
    Quoting.Reader reader = new Quoting.Reader(text, this);
    List<Object> ranges = new ArrayList<>();
    reader.expect('{');
    if (reader.take('}')) {
      reader.end();
      return List.of();
    }
    do {
      int start = reader.position();
      if (!reader.take("empty")) {
        reader.skipRange();
      }
      ranges.add(range.parse(reader.since(start)));
    } while (reader.take(','));
    reader.expect('}');
    reader.end();
    return Collections.unmodifiableList(ranges);
  }
}
