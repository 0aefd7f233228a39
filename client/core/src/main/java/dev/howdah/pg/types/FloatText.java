package dev.howdah.pg.types;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.function.Predicate;

/** Floating-point numbers as the server writes them: the fewest digits that read back as the same number. */
final class FloatText {
  /** Before JDK 19 toString gives at times a digit too many, or not the closest last digit (JDK-4511638). */
  private static final boolean EXACT_STRINGS = Runtime.version().feature() >= 19;

  private FloatText() {}

  static String of(double value) {
    if (value == 0 || !Double.isFinite(value)) {
      return special(value);
    }
    BigDecimal digits = new BigDecimal(Double.toString(value)).stripTrailingZeros();
    if (!EXACT_STRINGS || digits.precision() == 2) {
      digits = shortest(digits, 15, new BigDecimal(value), candidate -> candidate.doubleValue() == value);
    }
    if (Math.getExponent(value) >= 52) {
      digits = inside(digits, new BigDecimal(value), new BigDecimal(Math.ulp(value)));
    }
    // From this magnitude on the server writes an exponent: DBL_DIG digits in front of the point.
    return laidOut(digits, 15);
  }

  static String of(float value) {
    if (value == 0 || !Float.isFinite(value)) {
      return special(value);
    }
    BigDecimal digits = new BigDecimal(Float.toString(value)).stripTrailingZeros();
    if (!EXACT_STRINGS || digits.precision() == 2) {
      digits = shortest(digits, 6, new BigDecimal(value), candidate -> candidate.floatValue() == value);
    }
    if (Math.getExponent(value) >= 21) {
      digits = inside(digits, new BigDecimal(value), new BigDecimal(Math.ulp(value)));
    }
    return laidOut(digits, 6);
  }

  private static String special(double value) {
    if (value == 0) {
      return 1 / value < 0 ? "-0" : "0";
    }
    return Double.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  }

  /**
   * The closest of the shortest numbers that are read back the same. Few digits are right already, two
   * excepted: toString never gives a single one, as in 4.9E-324.
   */
  private static BigDecimal shortest(BigDecimal digits, int many, BigDecimal exact, Predicate<BigDecimal> same) {
    if (digits.precision() < many && digits.precision() != 2) {
      return digits;
    }
    int precision = digits.precision();
    while (precision > 1 && same.test(rounded(exact, precision - 1))) {
      precision--;
    }
    return rounded(exact, precision).stripTrailingZeros();
  }

  private static BigDecimal rounded(BigDecimal exact, int precision) {
    return exact.round(new MathContext(precision, RoundingMode.HALF_EVEN));
  }

  /**
   * The server takes no digits that lie exactly half-way to the next number, though they would be read back
   * as this one; it writes more digits then. Only large numbers have such neighbours of so few digits.
   */
  private static BigDecimal inside(BigDecimal shortest, BigDecimal exact, BigDecimal gap) {
    BigDecimal digits = shortest;
    for (int precision = shortest.precision(); isHalfWay(digits, exact, gap); precision++) {
      digits = rounded(exact, precision).stripTrailingZeros();
    }
    return digits;
  }

  /** Below a power of two the gap is half as wide. */
  private static boolean isHalfWay(BigDecimal digits, BigDecimal exact, BigDecimal gap) {
    BigDecimal distance = digits.subtract(exact).abs();
    return distance.compareTo(gap.multiply(new BigDecimal("0.5"))) == 0;
  }

  private static String laidOut(BigDecimal value, int widest) {
    int exponent = value.precision() - value.scale() - 1;
    if (exponent >= -4 && exponent < widest) {
      return value.toPlainString();
    }
    String digits = value.unscaledValue().abs().toString();
    StringBuilder text = new StringBuilder();
    if (value.signum() < 0) {
      text.append('-');
    }
    text.append(digits.charAt(0));
    if (digits.length() > 1) {
      text.append('.').append(digits, 1, digits.length());
    }
    text.append('e').append(exponent < 0 ? '-' : '+');
    if (Math.abs(exponent) < 10) {
      text.append('0');
    }
    return text.append(Math.abs(exponent)).toString();
  }
}
