package dev.howdah.pg.types;

import dev.howdah.pg.json.Json;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.util.HexFormat;
import java.util.Locale;
import java.util.UUID;
import java.util.regex.Pattern;

/** Types that need few lines each: bool, bytea, uuid, void, pg_lsn, "char". */
final class SmallCodecs {
  private static final byte[] HEX =
      "0123456789abcdef".getBytes(java.nio.charset.StandardCharsets.US_ASCII);

  private SmallCodecs() {}

  static final class Bool extends Codec {
    Bool() {
      super("bool");
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return bool(bytes, offset, length);
    }

    @Override
    public boolean bool(byte[] bytes, int offset, int length) {
      if (length != 1) {
        throw broken(length);
      }
      if (bytes[offset] != 0 && bytes[offset] != 1) {
        throw outOfRange(bytes[offset]);
      }
      return bytes[offset] == 1;
    }

    @Override
    public Object parse(String text) {
      return switch (text) {
        case "t", "true" -> true;
        case "f", "false" -> false;
        default -> throw malformed(text);
      };
    }

    @Override
    public void encode(Object value, WireOutput out) {
      if (!(value instanceof Boolean flag)) {
        throw refuse(value);
      }
      out.int1(flag ? 1 : 0);
    }

    /** The server's cast to text writes the whole word, its output function one letter. */
    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      out.int1(bool(bytes, offset, length) ? 't' : 'f');
    }

    @Override
    public String string(byte[] bytes, int offset, int length) {
      return bool(bytes, offset, length) ? "true" : "false";
    }

    @Override
    public void json(byte[] bytes, int offset, int length, WireOutput out) {
      out.text(string(bytes, offset, length));
    }

    @Override
    public void jsonOfText(byte[] utf8, int offset, int length, WireOutput out) {
      out.text(parse(utf8, offset, length).toString());
    }

    @Override
    public void edn(byte[] bytes, int offset, int length, WireOutput out) {
      json(bytes, offset, length, out);
    }

    @Override
    public void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
      jsonOfText(utf8, offset, length, out);
    }
  }

  /** bytea as a fresh byte array at each read: an array can be changed, so none is shared. */
  static final class Bytea extends Codec {
    private static final Pattern OCTAL = Pattern.compile("[0-3][0-7]{2}");

    Bytea() {
      super("bytea");
    }

    @Override
    public boolean cacheable() {
      return false;
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return java.util.Arrays.copyOfRange(bytes, offset, offset + length);
    }

    @Override
    public Object parse(String text) {
      if (!text.startsWith("\\x")) {
        return unescaped(text);
      }
      try {
        return HexFormat.of().parseHex(text, 2, text.length());
      } catch (IllegalArgumentException e) {
        throw malformed(text);
      }
    }

    /** The form of bytea_output = escape. */
    private byte[] unescaped(String text) {
      WireOutput out = new WireOutput(text.length());
      for (int i = 0; i < text.length(); i++) {
        char c = text.charAt(i);
        if (c > '~') {
          throw malformed(text);
        } else if (c != '\\') {
          out.int1(c);
        } else if (text.startsWith("\\", i + 1)) {
          out.int1('\\');
          i++;
        } else {
          if (!OCTAL.matcher(text.substring(i + 1, Math.min(i + 4, text.length()))).matches()) {
            throw malformed(text);
          }
          out.int1(Integer.parseInt(text, i + 1, i + 4, 8));
          i += 3;
        }
      }
      return out.toByteArray();
    }

    @Override
    public void encode(Object value, WireOutput out) {
      if (value instanceof byte[] array) {
        out.bytes(array);
      } else if (value instanceof java.nio.ByteBuffer buffer) {
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        out.bytes(copy);
      } else {
        throw refuse(value);
      }
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      out.int1('\\');
      out.int1('x');
      hex(bytes, offset, length, out);
    }
  }

  static void hex(byte[] bytes, int offset, int length, WireOutput out) {
    byte[] target = out.room(Math.multiplyExact(length, 2));
    int at = out.size();
    for (int i = 0; i < length; i++) {
      int b = bytes[offset + i];
      target[at + 2 * i] = HEX[(b >> 4) & 15];
      target[at + 2 * i + 1] = HEX[b & 15];
    }
    out.advance(length * 2);
  }

  static final class Uuid extends Codec {
    Uuid() {
      super("uuid");
    }

    /** There is nothing in it to escape. */
    @Override
    public void json(byte[] bytes, int offset, int length, WireOutput out) {
      out.int1('"');
      text(bytes, offset, length, out);
      out.int1('"');
    }

    @Override
    public void edn(byte[] bytes, int offset, int length, WireOutput out) {
      out.text("#uuid \"");
      text(bytes, offset, length, out);
      out.int1('"');
    }

    @Override
    public void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
      out.text("#uuid \"" + parse(utf8, offset, length) + '"');
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      if (length != 16) {
        throw broken(length);
      }
      return new UUID(BigEndian.int8(bytes, offset), BigEndian.int8(bytes, offset + 8));
    }

    @Override
    public Object parse(String text) {
      try {
        UUID uuid = UUID.fromString(text);
        // Java takes parts that are shorter or longer.
        if (text.equalsIgnoreCase(uuid.toString())) {
          return uuid;
        }
      } catch (IllegalArgumentException e) {
        // It is none either.
      }
      throw malformed(text);
    }

    @Override
    public void encode(Object value, WireOutput out) {
      if (!(value instanceof UUID uuid)) {
        throw refuse(value);
      }
      out.int8(uuid.getMostSignificantBits());
      out.int8(uuid.getLeastSignificantBits());
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      if (length != 16) {
        throw broken(length);
      }
      hex(bytes, offset, 4, out);
      for (int i = 4; i < 10; i += 2) {
        out.int1('-');
        hex(bytes, offset + i, 2, out);
      }
      out.int1('-');
      hex(bytes, offset + 10, 6, out);
    }
  }

  /** void: the result of a function that returns nothing. */
  static final class Void extends Codec {
    Void() {
      super("void");
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return "";
    }

    @Override
    public Object parse(String text) {
      return "";
    }

    @Override
    public void encode(Object value, WireOutput out) {
      throw refuse(value);
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      // Its text is empty too.
    }

    @Override
    public void json(byte[] bytes, int offset, int length, WireOutput out) {
      Json.string("", out);
    }
  }

  /** pg_lsn as String, such as 0/16B3748; a position can also be read and sent as a long. */
  static final class Lsn extends Codec {
    private static final Pattern TEXT = Pattern.compile("[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}");

    Lsn() {
      super("pg_lsn");
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return string(bytes, offset, length);
    }

    @Override
    public long int8(byte[] bytes, int offset, int length) {
      if (length != 8) {
        throw broken(length);
      }
      return BigEndian.int8(bytes, offset);
    }

    @Override
    public Object parse(String text) {
      if (!TEXT.matcher(text).matches()) {
        throw malformed(text);
      }
      return written(position(text));
    }

    private static long position(String text) {
      int slash = text.indexOf('/');
      return Long.parseLong(text, 0, slash, 16) << 32
          | Long.parseLong(text, slash + 1, text.length(), 16);
    }

    private static String written(long position) {
      return (Long.toHexString(position >>> 32) + '/' + Long.toHexString(position & 0xffff_ffffL))
          .toUpperCase(Locale.ROOT);
    }

    @Override
    public void encode(Object value, WireOutput out) {
      if (value instanceof Long position) {
        out.int8(position);
      } else if (value instanceof String text && TEXT.matcher(text).matches()) {
        out.int8(position(text));
      } else {
        throw refuse(value);
      }
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      out.text(written(int8(bytes, offset, length)));
    }
  }
}
