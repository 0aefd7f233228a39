package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** No limit that nobody asked for ends a query. */
class DefaultLimitsTest {
  @Test
  void aQueryMayTakeLongerThanAnyDefault() {
    Config config = PrivateServer.shared().config().build();
    assertEquals(Duration.ZERO, config.queryTimeout());
    double seconds =
        1
            + List.of(
                    config.connectTimeout(),
                    config.cancelTimeout(),
                    Pool.Settings.DEFAULT.checkAfter())
                .stream()
                .mapToDouble(limit -> limit.toMillis() / 1000.0)
                .max()
                .orElseThrow();
    long start = System.nanoTime();
    try (Connection connection = Connection.open(config)) {
      assertEquals(
          "late",
          connection
              .query("select pg_sleep($1), 'late' as word", seconds)
              .get(0)
              .getString("word"));
      assertTrue(System.nanoTime() - start >= seconds * 1e9);
      assertEquals(1, connection.query("select 1").size());
    }
  }
}
