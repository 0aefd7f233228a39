package dev.howdah.pg.types;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import org.junit.jupiter.api.Test;

class DaysTest {
  @Test
  void everyDayIsThatOfTheCalendarHoweverOftenItIsAskedFor() {
    for (long day = -800_000; day < 3_000_000; day += 977) {
      // Days that share a slot take turns.
      for (long asked : new long[] {day, day, day + 1024, day, day}) {
        LocalDate date = LocalDate.ofEpochDay(asked);
        assertEquals(date, Days.date(asked));
        if (date.getYear() > 0 && date.getYear() < 10_000) {
          assertArrayEquals(date.toString().getBytes(StandardCharsets.US_ASCII), Days.text(asked));
        } else {
          assertNull(Days.text(asked));
        }
      }
    }
  }

  @Test
  void aDayThatComesAgainIsShared() {
    Days.date(12_345);
    Days.date(12_345);
    assertSame(Days.date(12_345), Days.date(12_345));
  }
}
