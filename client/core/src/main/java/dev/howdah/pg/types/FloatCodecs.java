package dev.howdah.pg.types;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;

/** float4 as Float and float8 as Double. */
final class FloatCodecs {
  private FloatCodecs() {}

  private abstract static class Floating extends Codec {
    Floating(String name) {
      super(name);
    }

    /**
     * Text that is a number as the server writes it: Java would take spaces around it, hexadecimal
     * digits and a type's letter.
     */
    final String decimal(String text) {
      if (text.equals("NaN") || text.equals("Infinity") || text.equals("-Infinity")) {
        return text;
      }
      for (int i = 0; i < text.length(); i++) {
        if ("0123456789+-.eE".indexOf(text.charAt(i)) < 0) {
          throw malformed(text);
        }
      }
      return text;
    }

    /** A number of text, which becomes infinite by its name alone. */
    final <T extends Number> T ranged(T number, String text) {
      if (Double.isInfinite(number.doubleValue()) && !text.endsWith("Infinity")) {
        throw outOfRange(text);
      }
      return number;
    }

    /** JSON has no NaN and no infinity; the server writes them as strings, and so do we. */
    @Override
    public final void json(byte[] bytes, int offset, int length, WireOutput out) {
      boolean finite = Double.isFinite(float8(bytes, offset, length));
      if (!finite) {
        out.int1('"');
      }
      text(bytes, offset, length, out);
      if (!finite) {
        out.int1('"');
      }
    }

    @Override
    public final void jsonOfText(byte[] utf8, int offset, int length, WireOutput out) {
      WireOutput binary = binary(utf8, offset, length);
      json(binary.array(), 0, binary.size(), out);
    }

    private WireOutput binary(byte[] utf8, int offset, int length) {
      WireOutput binary = new WireOutput(8);
      encode(parse(utf8, offset, length), binary);
      return binary;
    }

    @Override
    public final void edn(byte[] bytes, int offset, int length, WireOutput out) {
      edn(string(bytes, offset, length), out);
    }

    @Override
    public final void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
      WireOutput binary = binary(utf8, offset, length);
      edn(binary.array(), 0, binary.size(), out);
    }

    /** A whole number gets a point, or it would be read as an integer. */
    private static void edn(String text, WireOutput out) {
      switch (text) {
        case "NaN" -> out.text("##NaN");
        case "Infinity" -> out.text("##Inf");
        case "-Infinity" -> out.text("##-Inf");
        default -> {
          out.text(text);
          if (text.indexOf('.') < 0 && text.indexOf('e') < 0) {
            out.text(".0");
          }
        }
      }
    }

    final double number(Object value) {
      if (value instanceof Number number) {
        return number.doubleValue();
      }
      throw refuse(value);
    }
  }

  static final class Float8 extends Floating {
    Float8() {
      super("float8");
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return float8(bytes, offset, length);
    }

    @Override
    public double float8(byte[] bytes, int offset, int length) {
      if (length != 8) {
        throw broken(length);
      }
      return Double.longBitsToDouble(BigEndian.int8(bytes, offset));
    }

    @Override
    public Object parse(String text) {
      try {
        return ranged(Double.parseDouble(decimal(text)), text);
      } catch (NumberFormatException e) {
        throw malformed(text);
      }
    }

    @Override
    public void encode(Object value, WireOutput out) {
      out.int8(Double.doubleToRawLongBits(number(value)));
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      FloatText.write(float8(bytes, offset, length), out);
    }
  }

  static final class Float4 extends Floating {
    Float4() {
      super("float4");
    }

    private float float4(byte[] bytes, int offset, int length) {
      if (length != 4) {
        throw broken(length);
      }
      return Float.intBitsToFloat(BigEndian.int4(bytes, offset));
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return float4(bytes, offset, length);
    }

    @Override
    public double float8(byte[] bytes, int offset, int length) {
      return float4(bytes, offset, length);
    }

    @Override
    public Object parse(String text) {
      try {
        return ranged(Float.parseFloat(decimal(text)), text);
      } catch (NumberFormatException e) {
        throw malformed(text);
      }
    }

    @Override
    public void encode(Object value, WireOutput out) {
      double wide = number(value);
      float narrow = (float) wide;
      if (Float.isInfinite(narrow) && !Double.isInfinite(wide)) {
        throw outOfRange(value);
      }
      out.int4(Float.floatToRawIntBits(narrow));
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      FloatText.write(float4(bytes, offset, length), out);
    }
  }
}
