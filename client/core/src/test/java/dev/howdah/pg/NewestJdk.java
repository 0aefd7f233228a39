package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.platform.engine.discovery.ClassNameFilter.excludeClassNamePatterns;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectPackage;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** Runs tests again on the newest JDK that is installed beside this one. */
public final class NewestJdk {
  private static final Pattern FEATURE = Pattern.compile("JAVA_VERSION=\"(\\d+)");

  private NewestJdk() {}

  /** Runs in a process of its own, on the other JDK. */
  public static void main(String[] arguments) {
    SummaryGeneratingListener seen = new SummaryGeneratingListener();
    LauncherFactory.create()
        .execute(
            LauncherDiscoveryRequestBuilder.request()
                .selectors(selectPackage(arguments[0]))
                .filters(excludeClassNamePatterns(arguments[1]))
                .build(),
            seen);
    seen.getSummary().printFailuresTo(new PrintWriter(System.err, true));
    System.exit(
        seen.getSummary().getTotalFailureCount() == 0
                && seen.getSummary().getTestsSucceededCount() > 0
            ? 0
            : 1);
  }

  /**
   * Runs the tests of a class's package and below there, the class itself and some others excepted.
   */
  public static void runTestsBeside(Class<?> test, String... leftOut)
      throws IOException, InterruptedException {
    List<String> names = new ArrayList<>(List.of(leftOut));
    names.add(test.getSimpleName());
    Path newest = newest();
    assumeTrue(feature(newest) > Runtime.version().feature(), "there is no newer JDK");
    // One carrier: a virtual thread that kept it while it waits would stop all others.
    Process process =
        new ProcessBuilder(
                newest.resolve("bin/java").toString(),
                "-Xmx1g",
                "-XX:+UseSerialGC",
                "-Djdk.virtualThreadScheduler.parallelism=1",
                "-Djdk.virtualThreadScheduler.maxPoolSize=1",
                "-cp",
                System.getProperty("java.class.path"),
                NewestJdk.class.getName(),
                test.getPackageName(),
                ".*\\.(" + String.join("|", names) + ")")
            .inheritIO()
            .start();
    assertEquals(0, process.waitFor());
  }

  private static Path newest() throws IOException {
    Path current = Path.of(System.getProperty("java.home")).toRealPath();
    try (Stream<Path> installed = Files.list(current.getParent())) {
      return installed
          .filter(folder -> Files.isExecutable(folder.resolve("bin/java")))
          .max(Comparator.comparingInt(NewestJdk::feature))
          .orElse(current);
    }
  }

  private static int feature(Path home) {
    try {
      Matcher matcher = FEATURE.matcher(Files.readString(home.resolve("release")));
      return matcher.find() ? Integer.parseInt(matcher.group(1)) : 0;
    } catch (IOException e) {
      return 0;
    }
  }
}
