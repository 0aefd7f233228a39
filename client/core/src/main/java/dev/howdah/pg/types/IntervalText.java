package dev.howdah.pg.types;

/**
 * Reads the server's text of an interval in each IntervalStyle, since a session, its role or its
 * database may have set another than postgres. Which one it is can be told by the text.
 */
final class IntervalText {
  private static final long SECOND = 1_000_000;
  private static final long MINUTE = 60 * SECOND;
  private static final long HOUR = 60 * MINUTE;

  private final String text;

  /** What each number is multiplied by: the style postgres_verbose negates the whole at its end. */
  private final int sign;

  private int months;
  private int days;
  private long micros;

  private IntervalText(String text) {
    this.text = text;
    this.sign = text.endsWith(" ago") ? -1 : 1;
  }

  /** The interval; null if the text is none. */
  static Interval parse(String text) {
    try {
      IntervalText interval = new IntervalText(Digits.ascii(text));
      if (text.startsWith("P")) {
        interval.readIso();
      } else if (text.startsWith("@") || text.chars().anyMatch(Character::isLetter)) {
        interval.readWords();
      } else {
        interval.readStandard();
      }
      return new Interval(interval.months, interval.days, interval.micros);
    } catch (NumberFormatException | ArithmeticException | IndexOutOfBoundsException e) {
      return null;
    }
  }

  private void addMonths(long count, int each) {
    months = Math.addExact(months, Math.toIntExact(Math.multiplyExact(sign * count, each)));
  }

  private void addDays(long count) {
    days = Math.addExact(days, Math.toIntExact(sign * count));
  }

  private void addTime(String number, long unit) {
    int point = number.indexOf('.');
    boolean negative = number.startsWith("-");
    long whole = Long.parseLong(point < 0 ? number : number.substring(0, point));
    add(Math.multiplyExact(sign * whole, unit));
    if (point >= 0) {
      long fraction =
          Long.parseLong((digits(number.substring(point + 1), 6) + "000000").substring(0, 6));
      add(Math.multiplyExact(negative ? -sign * fraction : sign * fraction, unit) / SECOND);
    }
  }

  /** Digits alone, so many at most. */
  private static String digits(String text, int most) {
    if (text.isEmpty()
        || text.length() > most
        || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
      throw new NumberFormatException();
    }
    return text;
  }

  private void add(long more) {
    micros = Math.addExact(micros, more);
  }

  /** P1Y2M-3DT4H5M6.7S, the style iso_8601. */
  private void readIso() {
    boolean time = false;
    int start = 1;
    for (int at = 1; at < text.length(); at++) {
      char letter = text.charAt(at);
      if (letter == 'T') {
        time = true;
        start = at + 1;
      } else if (Character.isLetter(letter)) {
        unit(text.substring(start, at), time ? "T" + letter : "" + letter);
        start = at + 1;
      }
    }
    if (start != text.length()) {
      throw new NumberFormatException();
    }
  }

  /**
   * 1 year 2 mons -3 days +04:05:06.7, the style postgres, or @ 1 year 2 mons -3 days 4 hours 5
   * mins 6.7 secs ago, postgres_verbose.
   */
  private void readWords() {
    String[] words = text.split(" ");
    int end = sign < 0 ? words.length - 1 : words.length;
    for (int i = words[0].equals("@") ? 1 : 0; i < end; i++) {
      if (words[i].indexOf(':') >= 0) {
        clock(words[i], words[i].startsWith("-"));
      } else if (!words[i].equals("0") || i + 1 < end) {
        unit(words[i], words[++i]);
      }
    }
  }

  private void unit(String number, String unit) {
    switch (unit) {
      case "Y", "year", "years" -> addMonths(Long.parseLong(number), 12);
      case "M", "mon", "mons" -> addMonths(Long.parseLong(number), 1);
      case "D", "day", "days" -> addDays(Long.parseLong(number));
      case "TH", "hour", "hours" -> addTime(number, HOUR);
      case "TM", "min", "mins" -> addTime(number, MINUTE);
      case "TS", "sec", "secs" -> addTime(number, SECOND);
      default -> throw new NumberFormatException();
    }
  }

  /**
   * 1-2, or -3 4:05:06.7, whose sign holds for both, or +1-2 -3 +4:05:06.7: the style sql_standard.
   */
  private void readStandard() {
    String[] parts = text.split(" ");
    boolean oneSign = parts.length < 3 && text.lastIndexOf('+') < 0;
    boolean allNegative = oneSign && text.startsWith("-");
    for (String part : parts) {
      boolean negative = allNegative || part.startsWith("-");
      int dash = part.indexOf('-', 1);
      if (part.indexOf(':') >= 0) {
        clock(part, negative);
      } else if (dash > 0) {
        long year = Long.parseLong(unsigned(part.substring(0, dash)));
        long month = Long.parseLong(digits(part.substring(dash + 1), 2));
        addMonths(negative ? -year : year, 12);
        addMonths(negative ? -month : month, 1);
      } else {
        long count = Long.parseLong(unsigned(part));
        addDays(negative ? -count : count);
      }
    }
  }

  private static String unsigned(String number) {
    return number.startsWith("-") || number.startsWith("+") ? number.substring(1) : number;
  }

  /**
   * Hours, minutes and seconds. Each is added with its sign, because the least long has no positive
   * counterpart.
   */
  private void clock(String word, boolean negative) {
    String[] parts = unsigned(word).split(":", -1);
    if (parts.length != 3 || parts[1].length() != 2) {
      throw new NumberFormatException();
    }
    digits(parts[0], 19);
    digits(parts[1], 2);
    digits(parts[2].substring(0, 1), 1);
    String minus = negative ? "-" : "";
    addTime(minus + parts[0], HOUR);
    addTime(minus + parts[1], MINUTE);
    addTime(minus + parts[2], SECOND);
  }
}
