package dev.howdah.pg.types;

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

    Entry(long day) {
      this.day = day;
      this.date = LocalDate.ofEpochDay(day);
    }
  }

  /** The date that many days after 1970-01-01. */
  static LocalDate date(long day) {
    int slot = (int) day & (RECENT.length - 1);
    Entry entry = RECENT[slot];
    if (entry == null || entry.day != day) {
      entry = new Entry(day);
      RECENT[slot] = entry;
    }
    return entry.date;
  }
}
