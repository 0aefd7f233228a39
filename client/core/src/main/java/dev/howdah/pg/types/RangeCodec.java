package dev.howdah.pg.types;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;

/** Ranges as {@link Range}. */
final class RangeCodec extends Codec {
  private static final int EMPTY = 1;
  private static final int LOWER_INCLUSIVE = 2;
  private static final int UPPER_INCLUSIVE = 4;
  private static final int LOWER_INFINITE = 8;
  private static final int UPPER_INFINITE = 16;

  private final Codec bound;

  RangeCodec(String name, Codec bound) {
    super(name);
    this.bound = bound;
  }

  @Override
  public boolean binary() {
    return bound.binary();
  }

  @Override
  public boolean cacheable() {
    return bound.cacheable();
  }

  /** The length of the bound at a position, checked against the bytes that are there. */
  private int boundLength(byte[] bytes, int at, int end) {
    int length = end - at < 4 ? -1 : BigEndian.int4(bytes, at);
    if (length < 0 || length > end - at - 4) {
      throw broken(end - at);
    }
    return length;
  }

  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    if (length < 1) {
      throw broken(length);
    }
    int flags = bytes[offset];
    if ((flags & EMPTY) != 0) {
      flags = EMPTY | LOWER_INFINITE | UPPER_INFINITE;
    }
    int end = offset + length;
    int at = offset + 1;
    Object lower = null;
    Object upper = null;
    if ((flags & LOWER_INFINITE) == 0) {
      int size = boundLength(bytes, at, end);
      lower = bound.decode(bytes, at + 4, size);
      at += 4 + size;
    }
    if ((flags & UPPER_INFINITE) == 0) {
      int size = boundLength(bytes, at, end);
      upper = bound.decode(bytes, at + 4, size);
      at += 4 + size;
    }
    if (at != end) {
      throw broken(length);
    }
    return new Range(
        lower,
        upper,
        (flags & LOWER_INCLUSIVE) != 0,
        (flags & UPPER_INCLUSIVE) != 0,
        (flags & EMPTY) != 0);
  }

  @Override
  public void encode(Object value, WireOutput out) {
    if (!(value instanceof Range range)) {
      throw refuse(value);
    }
    if (range.empty()) {
      out.int1(EMPTY);
      return;
    }
    int flags =
        range.lower() == null ? LOWER_INFINITE : range.lowerInclusive() ? LOWER_INCLUSIVE : 0;
    out.int1(
        flags
            | (range.upper() == null
                ? UPPER_INFINITE
                : range.upperInclusive() ? UPPER_INCLUSIVE : 0));
    encodeBound(range.lower(), out);
    encodeBound(range.upper(), out);
  }

  private void encodeBound(Object value, WireOutput out) {
    if (value != null) {
      int start = out.reserveInt4();
      bound.encode(value, out);
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
    if (!(value instanceof Range range)) {
      throw refuse(value);
    }
    if (range.empty()) {
      return "empty";
    }
    return (range.lowerInclusive() ? "[" : "(")
        + quoted(range.lower())
        + ","
        + quoted(range.upper())
        + (range.upperInclusive() ? "]" : ")");
  }

  private String quoted(Object value) {
    if (value == null) {
      return "";
    }
    WireOutput encoded = new WireOutput(16);
    bound.encode(value, encoded);
    WireOutput out = new WireOutput(32);
    bound.text(encoded.array(), 0, encoded.size(), out);
    String text = new String(out.array(), 0, out.size(), StandardCharsets.UTF_8);
    return Quoting.needed(text, "()[],") ? Quoting.doubled(text) : text;
  }

  @Override
  public Object parse(String text) {
    if (text.equals("empty")) {
      return Range.EMPTY;
    }
    Quoting.Reader reader = new Quoting.Reader(text, this);
    boolean lowerInclusive = reader.take('[');
    if (!lowerInclusive) {
      reader.expect('(');
    }
    Object lower = reader.peek() == ',' ? null : bound.parse(reader.part(","));
    reader.expect(',');
    Object upper =
        reader.peek() == ')' || reader.peek() == ']' ? null : bound.parse(reader.part(")]"));
    boolean upperInclusive = reader.take(']');
    if (!upperInclusive) {
      reader.expect(')');
    }
    reader.end();
    return new Range(lower, upper, lowerInclusive, upperInclusive, false);
  }
}
