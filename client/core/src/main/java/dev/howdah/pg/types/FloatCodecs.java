package dev.howdah.pg.types;

import dev.howdah.pg.json.Json;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;

/** float4 as Float and float8 as Double. */
final class FloatCodecs {
  private FloatCodecs() {}

  private abstract static class Floating extends Codec {
    Floating(String name) {
      super(name);
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
      byte last = length == 0 ? 0 : utf8[offset + length - 1];
      if (last >= '0' && last <= '9') {
        out.bytes(utf8, offset, length);
      } else {
        Json.string(utf8, offset, length, out);
      }
    }

    @Override
    public final void edn(byte[] bytes, int offset, int length, WireOutput out) {
      edn(string(bytes, offset, length), out);
    }

    @Override
    public final void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
      edn(new String(utf8, offset, length, StandardCharsets.US_ASCII), out);
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
        return Double.parseDouble(text);
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
        return Float.parseFloat(text);
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
