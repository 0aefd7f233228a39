package dev.howdah.pg.types;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;

/**
 * numeric as BigDecimal, with the scale it has in the server. NaN and the infinities, which
 * BigDecimal lacks, are the Doubles of that name.
 *
 * <p>On the wire: the count of digits to base 10,000, the weight of the first, a sign, the scale in
 * decimal digits, and the digits.
 */
final class NumericCodec extends Codec {
  private static final int NEGATIVE = 0x4000;
  private static final int NAN = 0xC000;
  private static final int POSITIVE_INFINITY = 0xD000;
  private static final int NEGATIVE_INFINITY = 0xF000;

  /** The server's limit on digits in front of the point. */
  private static final int MOST_WHOLE_DIGITS = 131_072;

  private static final int MOST_SCALE = 16_383;
  private static final int MOST_DIGIT = 9_999;
  private static final long[] POWERS = powers();

  NumericCodec() {
    super("numeric");
  }

  private static long[] powers() {
    long[] powers = new long[19];
    powers[0] = 1;
    for (int i = 1; i < powers.length; i++) {
      powers[i] = powers[i - 1] * 10;
    }
    return powers;
  }

  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    int count = header(bytes, offset, length);
    int sign = BigEndian.uint2(bytes, offset + 4);
    if (sign != 0 && sign != NEGATIVE) {
      return special(sign, length);
    }
    int weight = BigEndian.int2(bytes, offset + 2);
    int scale = BigEndian.uint2(bytes, offset + 6);
    BigDecimal small = decodeSmall(bytes, offset + 8, count, weight, sign, scale);
    return small != null ? small : decodeLarge(bytes, offset, count, weight, sign, scale);
  }

  /**
   * Reads no more digits than there are: BigDecimal takes 0.1 seconds for the zeros of 1e131071.
   * Those beyond the scale are cut off.
   */
  private BigDecimal decodeLarge(
      byte[] bytes, int offset, int count, int weight, int sign, int scale) {
    WireOutput digits = new WireOutput(4 * count + 1);
    digits.int1(sign == NEGATIVE ? '-' : '0');
    for (int i = 0; i < count; i++) {
      Digits.padded(digit(bytes, offset, count, i), 4, digits);
    }
    BigInteger unscaled =
        new BigInteger(new String(digits.array(), 0, digits.size(), StandardCharsets.US_ASCII));
    return new BigDecimal(unscaled, 4 * (count - weight - 1)).setScale(scale, RoundingMode.DOWN);
  }

  private int header(byte[] bytes, int offset, int length) {
    if (length < 8) {
      throw broken(length);
    }
    int count = BigEndian.uint2(bytes, offset);
    if (length != 8 + 2 * count || BigEndian.uint2(bytes, offset + 6) > MOST_SCALE) {
      throw broken(length);
    }
    return count;
  }

  /** Up to four digits to base 10,000 fit a long; most numbers in practice are that small. */
  private static BigDecimal decodeSmall(
      byte[] bytes, int at, int count, int weight, int sign, int scale) {
    if (count == 0) {
      return BigDecimal.valueOf(0, scale);
    }
    int decimals = 4 * (count - weight - 1);
    int shift = scale - decimals;
    if (count > 4 || shift > 2 || shift < -16) {
      return null;
    }
    long unscaled = 0;
    for (int i = 0; i < count; i++) {
      int digit = BigEndian.uint2(bytes, at + 2 * i);
      if (digit > MOST_DIGIT) {
        return null;
      }
      unscaled = unscaled * 10_000 + digit;
    }
    if (shift > 0) {
      unscaled *= POWERS[shift];
    } else if (shift < 0) {
      if (unscaled % POWERS[-shift] != 0) {
        return null;
      }
      unscaled /= POWERS[-shift];
    }
    return BigDecimal.valueOf(sign == NEGATIVE ? -unscaled : unscaled, scale);
  }

  private Object special(int sign, int length) {
    return switch (sign) {
      case NAN -> Double.NaN;
      case POSITIVE_INFINITY -> Double.POSITIVE_INFINITY;
      case NEGATIVE_INFINITY -> Double.NEGATIVE_INFINITY;
      default -> throw broken(length);
    };
  }

  @Override
  public void text(byte[] bytes, int offset, int length, WireOutput out) {
    int count = header(bytes, offset, length);
    int weight = BigEndian.int2(bytes, offset + 2);
    int sign = BigEndian.uint2(bytes, offset + 4);
    int scale = BigEndian.uint2(bytes, offset + 6);
    if (sign != 0 && sign != NEGATIVE) {
      out.text(special(sign, length).toString());
      return;
    }
    int first = firstDigit(bytes, offset, count);
    int start = out.size();
    if (sign == NEGATIVE) {
      out.int1('-');
    }
    if (first == count || weight < first) {
      out.int1('0');
    } else {
      Digits.write(digit(bytes, offset, count, first), out);
      for (int i = first + 1; i <= weight; i++) {
        Digits.padded(digit(bytes, offset, count, i), 4, out);
      }
    }
    if (scale > 0) {
      fraction(bytes, offset, count, weight, scale, out);
    }
    if (sign == NEGATIVE && isZero(out.array(), start + 1, out.size())) {
      // A zero has no sign, nor has what its scale cuts down to zero.
      System.arraycopy(out.array(), start + 1, out.array(), start, out.size() - start - 1);
      out.truncate(out.size() - 1);
    }
  }

  /**
   * The first digit to base 10,000 that is not zero; the server sends none before it. Each is
   * looked at.
   */
  private int firstDigit(byte[] bytes, int offset, int count) {
    int first = count;
    for (int i = count - 1; i >= 0; i--) {
      if (digit(bytes, offset, count, i) != 0) {
        first = i;
      }
    }
    return first;
  }

  private static boolean isZero(byte[] text, int from, int to) {
    for (int i = from; i < to; i++) {
      if (text[i] != '0' && text[i] != '.') {
        return false;
      }
    }
    return true;
  }

  private void fraction(
      byte[] bytes, int offset, int count, int weight, int scale, WireOutput out) {
    out.int1('.');
    int end = out.size() + scale;
    for (int i = weight + 1; out.size() < end; i++) {
      Digits.padded(digit(bytes, offset, count, i), 4, out);
    }
    out.truncate(end);
  }

  private int digit(byte[] bytes, int offset, int count, int index) {
    int digit = index >= 0 && index < count ? BigEndian.uint2(bytes, offset + 8 + 2 * index) : 0;
    if (digit > MOST_DIGIT) {
      throw broken(8 + 2 * count);
    }
    return digit;
  }

  @Override
  public double float8(byte[] bytes, int offset, int length) {
    return ((Number) decode(bytes, offset, length)).doubleValue();
  }

  @Override
  public void json(byte[] bytes, int offset, int length, WireOutput out) {
    int sign = length < 8 ? 0 : BigEndian.uint2(bytes, offset + 4);
    if (sign == 0 || sign == NEGATIVE) {
      text(bytes, offset, length, out);
    } else {
      super.json(bytes, offset, length, out);
    }
  }

  @Override
  public void jsonOfText(byte[] utf8, int offset, int length, WireOutput out) {
    if (isPlain(utf8, offset, length)) {
      out.bytes(utf8, offset, length);
    } else {
      WireOutput binary = new WireOutput(32);
      encode(parse(utf8, offset, length), binary);
      json(binary.array(), 0, binary.size(), out);
    }
  }

  /**
   * Whether text is a number as the server writes it, and as JSON and EDN have it, within what any
   * numeric may be.
   */
  private static boolean isPlain(byte[] utf8, int offset, int length) {
    int end = offset + length;
    int start = length > 0 && utf8[offset] == '-' ? offset + 1 : offset;
    int point = digits(utf8, start, end);
    boolean whole = point > start && (utf8[start] != '0' || point == start + 1);
    boolean ends =
        point == end
            || utf8[point] == '.' && point + 1 < end && digits(utf8, point + 1, end) == end;
    return whole && ends && length <= MOST_SCALE && (start == offset || !isZero(utf8, start, end));
  }

  /** Where digits from a position on end. */
  private static int digits(byte[] utf8, int from, int end) {
    int at = from;
    while (at < end && utf8[at] >= '0' && utf8[at] <= '9') {
      at++;
    }
    return at;
  }

  @Override
  public void edn(byte[] bytes, int offset, int length, WireOutput out) {
    WireOutput text = new WireOutput(32);
    text(bytes, offset, length, text);
    ednOfText(text.array(), 0, text.size(), out);
  }

  @Override
  public void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
    if (isPlain(utf8, offset, length)) {
      out.bytes(utf8, offset, length);
      out.int1('M');
      return;
    }
    Object value = parse(utf8, offset, length);
    if (value instanceof Double special) {
      out.text(special.isNaN() ? "##NaN" : special < 0 ? "##-Inf" : "##Inf");
    } else {
      out.text(((BigDecimal) value).toPlainString());
      out.int1('M');
    }
  }

  @Override
  public Object parse(String text) {
    try {
      return switch (text) {
        case "NaN" -> Double.NaN;
        case "Infinity" -> Double.POSITIVE_INFINITY;
        case "-Infinity" -> Double.NEGATIVE_INFINITY;
        default -> whole(new BigDecimal(Digits.ascii(text)));
      };
    } catch (NumberFormatException e) {
      throw malformed(text);
    }
  }

  /** Without a scale below 0, which no numeric has, so that a value is the same in both formats. */
  private BigDecimal whole(BigDecimal value) {
    checkRange(value);
    return value.scale() < 0 ? value.setScale(0) : value;
  }

  private void checkRange(BigDecimal value) {
    if ((long) value.precision() - value.scale() > MOST_WHOLE_DIGITS
        || value.scale() > MOST_SCALE) {
      throw outOfRange(
          "a numeric with precision " + value.precision() + " and scale " + value.scale());
    }
  }

  @Override
  public void encode(Object value, WireOutput out) {
    if (value instanceof Double || value instanceof Float) {
      double number = ((Number) value).doubleValue();
      if (!Double.isFinite(number)) {
        int sign = Double.isNaN(number) ? NAN : number > 0 ? POSITIVE_INFINITY : NEGATIVE_INFINITY;
        out.int8((long) sign << 16);
        return;
      }
    }
    encodeFinite(decimal(value), out);
  }

  private BigDecimal decimal(Object value) {
    if (value instanceof BigDecimal decimal) {
      return decimal;
    }
    if (value instanceof BigInteger integer) {
      return new BigDecimal(integer);
    }
    if (value instanceof Number) {
      try {
        return new BigDecimal(value.toString());
      } catch (NumberFormatException e) {
        throw refuse(value);
      }
    }
    throw refuse(value);
  }

  private void encodeFinite(BigDecimal value, WireOutput out) {
    BigDecimal plain = whole(value);
    int scale = plain.scale();
    int padding = (4 - scale % 4) % 4;
    byte[] digits =
        (plain.unscaledValue().abs().toString() + "000".substring(0, padding))
            .getBytes(StandardCharsets.US_ASCII);
    int groups = (digits.length + 3) / 4;
    int weight = groups - (scale + padding) / 4 - 1;
    int last = groups;
    while (last > 0 && group(digits, groups, last - 1) == 0) {
      last--;
    }
    int first = 0;
    while (first < last && group(digits, groups, first) == 0) {
      first++;
    }
    out.int2(last - first);
    out.int2(last == first ? 0 : weight - first);
    out.int2(plain.signum() < 0 ? NEGATIVE : 0);
    out.int2(scale);
    for (int i = first; i < last; i++) {
      out.int2(group(digits, groups, i));
    }
  }

  /**
   * The four decimal digits of a group, counted from the left, the first being filled up with
   * zeros.
   */
  private static int group(byte[] digits, int groups, int index) {
    int end = digits.length - (groups - 1 - index) * 4;
    int value = 0;
    for (int i = Math.max(0, end - 4); i < end; i++) {
      value = value * 10 + digits[i] - '0';
    }
    return value;
  }
}
