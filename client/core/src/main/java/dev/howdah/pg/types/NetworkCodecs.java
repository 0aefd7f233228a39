package dev.howdah.pg.types;

import dev.howdah.pg.wire.WireOutput;
import java.net.InetAddress;

/**
 * inet and cidr as {@link Inet}; macaddr and macaddr8 as String; bit and varbit as String of 0 and
 * 1.
 */
final class NetworkCodecs {
  private static final int IPV4 = 2;
  private static final int IPV6 = 3;

  private NetworkCodecs() {}

  static final class Address extends Codec {
    private final boolean cidr;

    Address(boolean cidr) {
      super(cidr ? "cidr" : "inet");
      this.cidr = cidr;
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      int size = length < 4 ? -1 : bytes[offset + 3];
      boolean known = size == 4 && bytes[offset] == IPV4 || size == 16 && bytes[offset] == IPV6;
      if (!known || size != length - 4) {
        throw broken(length);
      }
      if ((bytes[offset + 1] & 255) > 8 * size) {
        throw broken(length);
      }
      byte[] address = java.util.Arrays.copyOfRange(bytes, offset + 4, offset + length);
      return new Inet(address, bytes[offset + 1] & 255, cidr);
    }

    @Override
    public Object parse(String text) {
      return InetText.parse(text, cidr);
    }

    @Override
    public void encode(Object value, WireOutput out) {
      Inet inet;
      if (value instanceof Inet given) {
        inet = given;
      } else if (value instanceof InetAddress address) {
        inet = Inet.of(address);
      } else {
        throw refuse(value);
      }
      out.int1(inet.bytes().length == 4 ? IPV4 : IPV6);
      out.int1(inet.prefix());
      out.int1(cidr ? 1 : 0);
      out.int1(inet.bytes().length);
      out.bytes(inet.bytes());
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      out.text(decode(bytes, offset, length).toString());
    }
  }

  static final class Mac extends Codec {
    private final int width;

    Mac(String name, int width) {
      super(name);
      this.width = width;
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return string(bytes, offset, length);
    }

    @Override
    public Object parse(String text) {
      return java.util.HexFormat.ofDelimiter(":").formatHex(bytes(text));
    }

    @Override
    public void encode(Object value, WireOutput out) {
      out.bytes(bytes(value));
    }

    /** The bytes of an address: pairs of digits, which a separator may follow. */
    private byte[] bytes(Object value) {
      String text = value.toString();
      String digits = text.replaceAll("[:.-]", "");
      if (digits.length() != 2 * width || !text.matches("(?:[0-9a-fA-F]{2}[:.-]?)+")) {
        throw refuse(value);
      }
      return java.util.HexFormat.of().parseHex(digits);
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      if (length != width) {
        throw broken(length);
      }
      for (int i = 0; i < width; i++) {
        if (i > 0) {
          out.int1(':');
        }
        SmallCodecs.hex(bytes, offset + i, 1, out);
      }
    }
  }

  static final class Bits extends Codec {
    Bits(String name) {
      super(name);
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return string(bytes, offset, length);
    }

    @Override
    public Object parse(String text) {
      if (!isBits(text)) {
        throw malformed(text);
      }
      return text;
    }

    private static boolean isBits(String text) {
      return text.chars().allMatch(c -> c == '0' || c == '1');
    }

    @Override
    public void encode(Object value, WireOutput out) {
      String digits = value.toString();
      if (!isBits(digits)) {
        throw refuse(value);
      }
      out.int4(digits.length());
      for (int i = 0; i < digits.length(); i += 8) {
        String byteDigits =
            (digits.substring(i, Math.min(i + 8, digits.length())) + "0000000").substring(0, 8);
        out.int1(Integer.parseInt(byteDigits, 2));
      }
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      int count = length < 4 ? -1 : dev.howdah.pg.wire.BigEndian.int4(bytes, offset);
      if (count < 0 || (count + 7L) / 8 != length - 4) {
        throw broken(length);
      }
      for (int i = 0; i < count; i++) {
        out.int1('0' + (bytes[offset + 4 + i / 8] >> (7 - i % 8) & 1));
      }
    }
  }
}
