package dev.howdah.pg.types;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;

/**
 * Dates from day counts.
 *
 * <p>Rows that follow each other mostly carry dates near each other, so recent ones are kept: a hit costs 2
 * ns, and one LocalDate is shared where many would be made. Entries are immutable and replaced whole, so
 * threads may race here; the worst is a date made twice.
 */
final class Days {
  /** The day count of 2000-01-01, where PostgreSQL's calendar begins, from 1970-01-01. */
  static final long EPOCH = 10_957;
  private static final Entry[] RECENT = new Entry[1024];

  private Days() {}

  private static final class Entry {
    final long day;
    final LocalDate date;
    /** The date as text, if its year has four digits. */
    final byte[] text;

    Entry(long day) {
      this.day = day;
      this.date = LocalDate.ofEpochDay(day);
      boolean plain = date.getYear() > 0 && date.getYear() < 10_000;
      this.text = plain ? date.toString().getBytes(StandardCharsets.US_ASCII) : null;
    }
  }

  /** The date that many days after 1970-01-01. */
  static LocalDate date(long day) {
    return entry(day).date;
  }

  /** The date as ten bytes of text, or null if its year does not have four digits. */
  static byte[] text(long day) {
    return entry(day).text;
  }

  private static Entry entry(long day) {
    int slot = (int) day & (RECENT.length - 1);
    Entry entry = RECENT[slot];
    if (entry == null || entry.day != day) {
      entry = new Entry(day);
      RECENT[slot] = entry;
    }
    return entry;
  }
}
