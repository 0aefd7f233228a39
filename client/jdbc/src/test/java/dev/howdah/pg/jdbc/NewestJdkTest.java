package dev.howdah.pg.jdbc;

import dev.howdah.pg.NewestJdk;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs the tests again on the newest JDK that is installed beside this one. */
@Tag("long")
class NewestJdkTest {
  /** All of them together take longer than the limit of a single one. */
  @Test
  @Timeout(value = 15, unit = TimeUnit.MINUTES)
  void theTestsPassOnTheNewestJdk() throws IOException, InterruptedException {
    // Those that are long, or look at values and SQL, whatever the JDK.
    NewestJdk.runTestsBeside(
        NewestJdkTest.class,
        "ClojureTest",
        "DifferentialTest",
        "MigrationTest",
        "ReadmeTest",
        "SqlScannerTest");
  }
}
