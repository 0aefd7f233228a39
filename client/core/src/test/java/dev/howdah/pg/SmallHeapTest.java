package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class SmallHeapTest {
  private static final long ROWS = 10_000_000;

  /** Runs in a process of its own, whose heap is small. */
  public static void main(String[] arguments) {
    try (Connection connection = Connection.open(arguments[0])) {
      long sum =
          connection.reduce(
              Options.DEFAULT,
              0L,
              (total, row) -> total + row.getLong(0),
              "select generate_series(1, " + ROWS + "), 'some text beside it'");
      System.exit(sum == ROWS * (ROWS + 1) / 2 ? 0 : 1);
    }
  }

  @Test
  void tenMillionRowsPassThroughACursorInASmallHeap() throws IOException, InterruptedException {
    PrivateServer server = PrivateServer.shared();
    String source =
        "postgresql://" + PrivateServer.USER + "@127.0.0.1:" + server.port() + "/postgres";
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                SmallHeapTest.class.getName(),
                source)
            .inheritIO()
            .start();
    assertEquals(0, process.waitFor());
  }
}
