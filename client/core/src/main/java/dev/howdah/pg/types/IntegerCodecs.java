package dev.howdah.pg.types;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;

/** The integers: int2 and int4 as Integer, int8 and the unsigned numbers as Long. */
final class IntegerCodecs {
  private IntegerCodecs() {}

  /** What all of them share: the text is the digits, and JSON is the text. */
  abstract static class Whole extends Codec {
    final int width;
    final long least;
    final long greatest;

    Whole(String name, int width, long least, long greatest) {
      super(name);
      this.width = width;
      this.least = least;
      this.greatest = greatest;
    }

    final void check(int length) {
      if (length != width) {
        throw broken(length);
      }
    }

    final long ranged(Object value) {
      if (value instanceof Boolean) {
        throw refuse(value);
      }
      if (!(value instanceof Number number)) {
        throw refuse(value);
      }
      long exact = exact(number);
      if (exact < least || exact > greatest) {
        throw outOfRange(value);
      }
      return exact;
    }

    final long parsed(String text) {
      try {
        long value = Long.parseLong(Digits.ascii(text));
        if (value >= least && value <= greatest) {
          return value;
        }
        throw outOfRange(text);
      } catch (NumberFormatException e) {
        throw malformed(text);
      }
    }

    @Override
    public final double float8(byte[] bytes, int offset, int length) {
      return int8(bytes, offset, length);
    }

    @Override
    public final void text(byte[] bytes, int offset, int length, WireOutput out) {
      Digits.write(int8(bytes, offset, length), out);
    }

    @Override
    public void json(byte[] bytes, int offset, int length, WireOutput out) {
      Digits.write(int8(bytes, offset, length), out);
    }

    @Override
    public void jsonOfText(byte[] utf8, int offset, int length, WireOutput out) {
      Digits.write(parsed(new String(utf8, offset, length, StandardCharsets.UTF_8)), out);
    }

    @Override
    public final void edn(byte[] bytes, int offset, int length, WireOutput out) {
      text(bytes, offset, length, out);
    }

    @Override
    public final void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
      Digits.write(parsed(new String(utf8, offset, length, StandardCharsets.UTF_8)), out);
    }
  }

  static final class Int2 extends Whole {
    Int2() {
      super("int2", 2, Short.MIN_VALUE, Short.MAX_VALUE);
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return (int) int8(bytes, offset, length);
    }

    @Override
    public long int8(byte[] bytes, int offset, int length) {
      check(length);
      return BigEndian.int2(bytes, offset);
    }

    @Override
    public Object parse(String text) {
      return (int) parsed(text);
    }

    @Override
    public void encode(Object value, WireOutput out) {
      out.int2((int) ranged(value));
    }
  }

  static final class Int4 extends Whole {
    Int4() {
      super("int4", 4, Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      check(length);
      return BigEndian.int4(bytes, offset);
    }

    @Override
    public long int8(byte[] bytes, int offset, int length) {
      check(length);
      return BigEndian.int4(bytes, offset);
    }

    @Override
    public Object parse(String text) {
      return (int) parsed(text);
    }

    @Override
    public void encode(Object value, WireOutput out) {
      out.int4((int) ranged(value));
    }
  }

  static final class Int8 extends Whole {
    Int8() {
      super("int8", 8, Long.MIN_VALUE, Long.MAX_VALUE);
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      check(length);
      return BigEndian.int8(bytes, offset);
    }

    @Override
    public long int8(byte[] bytes, int offset, int length) {
      check(length);
      return BigEndian.int8(bytes, offset);
    }

    @Override
    public Object parse(String text) {
      return parsed(text);
    }

    @Override
    public void encode(Object value, WireOutput out) {
      out.int8(ranged(value));
    }
  }

  /**
   * xid8 as Long: no server comes to those above its greatest. The server's JSON has it in quotes.
   */
  static final class Xid8 extends Codec {
    private static final Int8 NUMBER = new Int8();

    Xid8() {
      super("xid8");
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return positive(NUMBER.int8(bytes, offset, length));
    }

    private long positive(long value) {
      if (value < 0) {
        throw outOfRange(value);
      }
      return value;
    }

    @Override
    public Object parse(String text) {
      return positive(NUMBER.parsed(text));
    }

    @Override
    public void encode(Object value, WireOutput out) {
      out.int8(positive(NUMBER.ranged(value)));
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      Digits.write(positive(NUMBER.int8(bytes, offset, length)), out);
    }
  }

  /** oid, xid, cid: 32 bits without a sign; the server's JSON has them in quotes. */
  static final class Unsigned extends Whole {
    Unsigned(String name) {
      super(name, 4, 0, 0xffff_ffffL);
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return int8(bytes, offset, length);
    }

    @Override
    public long int8(byte[] bytes, int offset, int length) {
      check(length);
      return BigEndian.int4(bytes, offset) & 0xffff_ffffL;
    }

    @Override
    public Object parse(String text) {
      return parsed(text);
    }

    @Override
    public void encode(Object value, WireOutput out) {
      out.int4((int) ranged(value));
    }

    @Override
    public void json(byte[] bytes, int offset, int length, WireOutput out) {
      out.int1('"');
      super.json(bytes, offset, length, out);
      out.int1('"');
    }

    @Override
    public void jsonOfText(byte[] utf8, int offset, int length, WireOutput out) {
      out.int1('"');
      super.jsonOfText(utf8, offset, length, out);
      out.int1('"');
    }
  }
}
