package dev.howdah.pg.types;

import java.time.LocalDate;

/**
 * Dates from day counts.
 *
 * <p>Rows that follow each other mostly carry dates near each other, so recent ones are kept: a hit
 * costs 2 ns, and one LocalDate is shared where many would be made. A day is kept from its second
 * use on, so that days that all differ cost no more than their dates: no entry is made, and no
 * collector is told of one. Entries are immutable and replaced whole, so threads may race here; the
 * worst is a date made twice.
 */
final class Days {
  /** The day count of 2000-01-01, where PostgreSQL's calendar begins, from 1970-01-01. */
  static final long EPOCH = 10_957;

  private static final int SLOTS = 1024;
  private static final Dated[] DATES = new Dated[SLOTS];
  private static final Written[] TEXTS = new Written[SLOTS];

  /** The days that were asked for last and not found. */
  private static final long[] MISSED_DATES = new long[SLOTS];

  private static final long[] MISSED_TEXTS = new long[SLOTS];

  private Days() {}

  private record Dated(long day, LocalDate date) {}

  /** A date as text; null if its year does not have four digits. */
  private record Written(long day, byte[] text) {}

  private static int slot(long day) {
    return (int) day & (SLOTS - 1);
  }

  /** The date that many days after 1970-01-01. */
  static LocalDate date(long day) {
    int slot = slot(day);
    Dated known = DATES[slot];
    if (known != null && known.day == day) {
      return known.date;
    }
    LocalDate date = LocalDate.ofEpochDay(day);
    if (MISSED_DATES[slot] == day) {
      DATES[slot] = new Dated(day, date);
    } else {
      MISSED_DATES[slot] = day;
    }
    return date;
  }

  /** The date as ten bytes of text, or null if its year does not have four digits. */
  static byte[] text(long day) {
    int slot = slot(day);
    Written known = TEXTS[slot];
    if (known != null && known.day == day) {
      return known.text;
    }
    byte[] text = written(date(day));
    if (MISSED_TEXTS[slot] == day) {
      TEXTS[slot] = new Written(day, text);
    } else {
      MISSED_TEXTS[slot] = day;
    }
    return text;
  }

  private static byte[] written(LocalDate date) {
    int year = date.getYear();
    if (year <= 0 || year > 9999) {
      return null;
    }
    byte[] text = new byte[10];
    two(year / 100, text, 0);
    two(year % 100, text, 2);
    text[4] = '-';
    two(date.getMonthValue(), text, 5);
    text[7] = '-';
    two(date.getDayOfMonth(), text, 8);
    return text;
  }

  private static void two(int number, byte[] text, int at) {
    text[at] = (byte) ('0' + number / 10);
    text[at + 1] = (byte) ('0' + number % 10);
  }
}
