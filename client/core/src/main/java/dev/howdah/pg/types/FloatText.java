package dev.howdah.pg.types;

import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;

/**
 * Floating-point numbers as the server writes them: the fewest digits that read back as the same
 * number.
 */
final class FloatText {
  /**
   * From this exponent on the server writes one: as many digits in front of the point as the type
   * always keeps.
   */
  private static final int WIDEST_DOUBLE = 15;

  private static final int WIDEST_FLOAT = 6;

  private FloatText() {}

  static String of(double value) {
    WireOutput out = new WireOutput(32);
    write(value, out);
    return new String(out.array(), 0, out.size(), StandardCharsets.US_ASCII);
  }

  static void write(double value, WireOutput out) {
    if (value == 0 || !Double.isFinite(value)) {
      special(value, out);
    } else {
      sign(value, out);
      write(ShortestDecimal.of(Math.abs(value)), WIDEST_DOUBLE, out);
    }
  }

  static void write(float value, WireOutput out) {
    if (value == 0 || !Float.isFinite(value)) {
      special(value, out);
    } else {
      sign(value, out);
      write(ShortestDecimal.of(Math.abs(value)), WIDEST_FLOAT, out);
    }
  }

  private static void special(double value, WireOutput out) {
    if (value == 0) {
      out.text(1 / value < 0 ? "-0" : "0");
    } else {
      out.text(Double.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    }
  }

  private static void sign(double value, WireOutput out) {
    if (value < 0) {
      out.int1('-');
    }
  }

  private static void write(ShortestDecimal decimal, int widest, WireOutput out) {
    int start = out.size();
    Digits.write(decimal.digits, out);
    int count = out.size() - start;
    int exponent = decimal.exponent + count - 1;
    if (exponent < -4 || exponent >= widest) {
      if (count > 1) {
        point(start + 1, 0, out);
      }
      exponent(exponent, out);
    } else if (exponent < 0) {
      point(start, -exponent, out);
    } else if (exponent < count - 1) {
      point(start + exponent + 1, 0, out);
    } else {
      for (int zeros = exponent - count + 1; zeros > 0; zeros--) {
        out.int1('0');
      }
    }
  }

  /**
   * Puts a point before a position: in front of all digits with so many zeros, of which the first
   * is before it.
   */
  private static void point(int at, int zeros, WireOutput out) {
    int more = zeros + 1;
    byte[] bytes = out.room(more);
    System.arraycopy(bytes, at, bytes, at + more, out.size() - at);
    if (zeros == 0) {
      bytes[at] = '.';
    } else {
      java.util.Arrays.fill(bytes, at, at + more, (byte) '0');
      bytes[at + 1] = '.';
    }
    out.advance(more);
  }

  private static void exponent(int exponent, WireOutput out) {
    out.int1('e');
    out.int1(exponent < 0 ? '-' : '+');
    Digits.padded(Math.abs(exponent), 2, out);
  }
}
