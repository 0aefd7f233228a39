package dev.howdah.pg.types;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.function.Predicate;

/** Floating-point numbers as the server writes them: the fewest digits that read back as the same number. */
final class FloatText {
  private FloatText() {}

  static String of(double value) {
    if (value == 0 || !Double.isFinite(value)) {
      return special(value);
    }
    BigDecimal digits = new BigDecimal(Double.toString(value));
    // From this magnitude on the server writes an exponent: DBL_DIG digits in front of the point.
    return laidOut(shortened(digits, candidate -> candidate.doubleValue() == value), 15);
  }

  static String of(float value) {
    if (value == 0 || !Float.isFinite(value)) {
      return special(value);
    }
    BigDecimal digits = new BigDecimal(Float.toString(value));
    return laidOut(shortened(digits, candidate -> candidate.floatValue() == value), 6);
  }

  private static String special(double value) {
    if (value == 0) {
      return 1 / value < 0 ? "-0" : "0";
    }
    return Double.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  }

  /** Before JDK 19 toString gives a digit too many at times (JDK-4511638). */
  private static BigDecimal shortened(BigDecimal digits, Predicate<BigDecimal> same) {
    BigDecimal best = digits.stripTrailingZeros();
    while (best.precision() > 1) {
      BigDecimal shorter = best.round(new MathContext(best.precision() - 1, RoundingMode.HALF_EVEN));
      if (!same.test(shorter)) {
        break;
      }
      best = shorter.stripTrailingZeros();
    }
    return best;
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
