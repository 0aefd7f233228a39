package dev.howdah.pg;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.function.Supplier;

/**
 * Values of every type as text that the server reads: the odd ones by hand, the rest generated from
 * a fixed seed.
 */
public final class Samples {
  private final Random random = new Random(20_260_101);

  /** Some values by hand and as many generated ones as are wanted. */
  private static List<String> of(int count, Supplier<String> generator, String... odd) {
    List<String> values = new ArrayList<>(List.of(odd));
    for (int i = 0; i < count; i++) {
      values.add(generator.get());
    }
    return values;
  }

  public List<String> longs(int bits) {
    long least = -1L << (bits - 1);
    return of(
        3000,
        () -> Long.toString(random.nextLong() >> (64 - bits) >> random.nextInt(bits)),
        "0",
        "-1",
        "1",
        Long.toString(least),
        Long.toString(-1 - least));
  }

  public List<String> unsigned() {
    return of(2000, () -> Long.toString(random.nextInt() & 0xffff_ffffL), "0", "4294967295");
  }

  public List<String> doubles() {
    return of(
        5000,
        this::aDouble,
        "0",
        "-0",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e15",
        "1e14",
        "123456789012345",
        "1234567890123456",
        "0.0001",
        "0.00001",
        "4.9e-324",
        "1.7976931348623157e308",
        "2.2250738585072014e-308",
        "2e23",
        "9007199254740993",
        "0.1");
  }

  private String aDouble() {
    double value =
        switch (random.nextInt(3)) {
          case 0 -> Double.longBitsToDouble(random.nextLong());
          case 1 -> random.nextInt(100_000) / 100.0;
          default -> random.nextGaussian() * Math.pow(10, random.nextInt(30) - 10);
        };
    return Double.toString(value);
  }

  public List<String> floats() {
    return of(
        5000,
        () -> Float.toString(Float.intBitsToFloat(random.nextInt())),
        "0",
        "-0",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e6",
        "100000",
        "999999",
        "1e5",
        "0.0001",
        "0.00001",
        "1.4e-45",
        "3.4028235e38",
        "16777216",
        "0.3");
  }

  public List<String> numerics() {
    return of(
        5000,
        this::aNumeric,
        "0",
        "0.00",
        "0.000000",
        "NaN",
        "Infinity",
        "-Infinity",
        "1",
        "-1",
        "10000",
        "100000000",
        "0.0001",
        "0.00001",
        "1e100",
        "1e-100",
        "9999999999999999",
        "99999999999999999999",
        "1.10",
        "123456.7890",
        "-0.5",
        "1" + "0".repeat(1000),
        "0." + "0".repeat(1000) + "1",
        "12345678901234567.123456789");
  }

  private String aNumeric() {
    BigInteger unscaled = new BigInteger(1 + random.nextInt(150), random);
    BigDecimal value =
        new BigDecimal(random.nextBoolean() ? unscaled : unscaled.negate(), random.nextInt(40));
    return value.toPlainString();
  }

  public List<String> texts() {
    return of(
        2000,
        this::aText,
        "",
        " ",
        "null",
        "NULL",
        "\"",
        "\\",
        "{}",
        "(,)",
        "a\nb\tc\r",
        "ä€😀",
        "'",
        "\u0001\u001f\u007f",
        "/");
  }

  private String aText() {
    StringBuilder text = new StringBuilder();
    int length = random.nextInt(20);
    for (int i = 0; i < length; i++) {
      int c =
          switch (random.nextInt(4)) {
            case 0 -> "\"\\{}(),'[]<>= \n\t".charAt(random.nextInt(16));
            case 1 -> 1 + random.nextInt(0x7ff);
            case 2 -> 0x1f600 + random.nextInt(60);
            default -> 'a' + random.nextInt(26);
          };
      text.appendCodePoint(c);
    }
    return text.toString();
  }

  public List<String> byteas() {
    return of(
        2000,
        () -> {
          byte[] bytes = new byte[random.nextInt(40)];
          random.nextBytes(bytes);
          return "\\x" + java.util.HexFormat.of().formatHex(bytes);
        },
        "\\x",
        "\\x00ff5c");
  }

  public List<String> uuids() {
    return of(
        2000,
        () -> new UUID(random.nextLong(), random.nextLong()).toString(),
        "00000000-0000-0000-0000-000000000000");
  }

  private String aDate() {
    boolean before = random.nextInt(4) == 0;
    int year = 1 + random.nextInt(before ? 4000 : random.nextInt(10) == 0 ? 200_000 : 3000);
    return String.format(
        "%04d-%02d-%02d%s",
        year, 1 + random.nextInt(12), 1 + random.nextInt(28), before ? " BC" : "");
  }

  public List<String> dates() {
    return of(
        3000,
        this::aDate,
        "infinity",
        "-infinity",
        "1970-01-01",
        "2000-01-01",
        "1999-12-31",
        "0001-01-01",
        "0001-12-31 BC",
        "4713-01-01 BC",
        "5874897-12-31",
        "2024-02-29");
  }

  private String aTime() {
    return String.format(
        "%02d:%02d:%02d%s", random.nextInt(24), random.nextInt(60), random.nextInt(60), fraction());
  }

  private String fraction() {
    int digits = random.nextInt(7);
    return digits == 0
        ? ""
        : "." + Integer.toString(1_000_000 + random.nextInt(1_000_000)).substring(1, 1 + digits);
  }

  public List<String> times() {
    return of(2000, this::aTime, "00:00:00", "24:00:00", "23:59:59.999999", "00:00:00.000001");
  }

  public List<String> zonedTimes() {
    return of(
        2000,
        () -> aTime() + aZone(),
        "00:00:00+00",
        "24:00:00+00",
        "24:00:00-15:59:59",
        "12:00:00+15:59");
  }

  private String aZone() {
    String hours = String.format("%s%02d", random.nextBoolean() ? "+" : "-", random.nextInt(14));
    return random.nextInt(3) == 0 ? hours + ":30" : hours;
  }

  public List<String> timestamps(boolean zone) {
    return of(
        4000,
        () -> {
          String date = aDate();
          boolean before = date.endsWith(" BC");
          return date.replace(" BC", "")
              + " "
              + aTime()
              + (zone ? aZone() : "")
              + (before ? " BC" : "");
        },
        "infinity",
        "-infinity",
        "2000-01-01 00:00:00",
        "1999-12-31 23:59:59.999999",
        "1970-01-01 00:00:00.000001",
        "1969-12-31 23:59:59.5",
        "0001-01-01 00:00:00",
        "4713-01-02 00:00:00 BC",
        "294276-12-31 00:00:00.999999");
  }

  public List<String> intervals() {
    return of(
        3000,
        () ->
            (random.nextInt(41) - 20)
                + " years "
                + (random.nextInt(41) - 20)
                + " mons "
                + (random.nextInt(41) - 20)
                + " days "
                + (random.nextBoolean() ? "-" : "")
                + random.nextInt(200)
                + ":"
                + random.nextInt(60)
                + ":"
                + random.nextInt(60)
                + fraction(),
        "0",
        "1 year",
        "-1 year",
        "1 mon -1 day",
        "-1 mon +1 day 00:00:01",
        "1 day -00:00:01",
        "00:00:00.000001",
        "178000000 years",
        "-178000000 years",
        "2147483647 days",
        "2562047788:00:54.775807",
        "-2562047788:00:54.775807");
  }

  public List<String> jsons() {
    return of(
        2000,
        () ->
            "{\"a\": " + random.nextInt() + ", \"b\": [1, null, \"x\\\"y\"], \"c\": {\"d\": true}}",
        "null",
        "1",
        "\"x\"",
        "[]",
        "{}",
        "[1,2]");
  }

  public List<String> inets() {
    return of(
        1000,
        this::anAddress,
        "0.0.0.0",
        "255.255.255.255/32",
        "10.0.0.1/8",
        "::",
        "::1",
        "::/0",
        "::ffff:1.2.3.4",
        "::1.2.3.4",
        "1::",
        "1:2:3:4:5:6:7:8/64",
        "fe80::1:0:0:1",
        "1:0:0:2::3",
        "0:1:2:3:4:5:6:7");
  }

  private String anAddress() {
    if (random.nextBoolean()) {
      return random.nextInt(256)
          + "."
          + random.nextInt(256)
          + "."
          + random.nextInt(256)
          + "."
          + random.nextInt(256)
          + "/"
          + random.nextInt(33);
    }
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 8; i++) {
      text.append(i > 0 ? ":" : "")
          .append(random.nextInt(3) == 0 ? Integer.toHexString(random.nextInt(65_536)) : "0");
    }
    return text + "/" + random.nextInt(129);
  }

  public List<String> bits() {
    return of(
        2000,
        () -> Integer.toBinaryString(random.nextInt()),
        "",
        "1",
        "0",
        "10101010",
        "101010101");
  }

  /** Arrays, ranges and the like are made of other samples by the server itself. */
  public List<String> geometry(String kind) {
    return of(2000, () -> geometry(kind, 1 + random.nextInt(4)));
  }

  private String geometry(String kind, int points) {
    return switch (kind) {
      case "point" -> point();
      case "lseg" -> "[" + point() + "," + point() + "]";
      case "box" -> point() + "," + point();
      case "path" ->
          (random.nextBoolean() ? "(" + points(points) + ")" : "[" + points(points) + "]");
      case "polygon" -> "(" + points(points) + ")";
      case "line" ->
          "{"
              + (1 + random.nextInt(9))
              + ","
              + random.nextInt(9)
              + ","
              + random.nextGaussian()
              + "}";
      default -> "<" + point() + "," + random.nextInt(100) + ">";
    };
  }

  private String points(int count) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < count; i++) {
      text.append(i > 0 ? "," : "").append(point());
    }
    return text.toString();
  }

  private String point() {
    return "(" + random.nextInt(1000) / 8.0 + "," + random.nextGaussian() + ")";
  }
}
