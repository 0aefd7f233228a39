package dev.howdah.pg.hunts;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Lets Jazzer attack every {@link Target} for a time, each in a process of its own: it changes
 * inputs and keeps those that reach code which none before has reached.
 *
 * <p>HUNT_SECONDS says for how long, which is 2 seconds where it is not set; ONE=client::NAME names
 * a target. A hunt that fails prints the input that it found, which HUNT_INPUT gives to the target
 * at once, and its seed, with which HUNT_SEED begins another: its first inputs are the same, later
 * ones depend on what Jazzer has seen of the code that ran, which is not the same in every process.
 */
class HuntsTest {
  private static final String PREFIX = "client::";

  /** Seconds that a hunt takes in every build. */
  private static final String SHORTEST = "2";

  /** Seconds that reading one input may take. */
  private static final int SLOWEST = 60;

  /**
   * Jazzer's own alarms, which are for programs that serve others; a client connects, and reads
   * what it is told.
   */
  private static final String ALARMS =
      Stream.of(
              "ClojureLangHooks",
              "Deserialization",
              "ExpressionLanguageInjection",
              "LdapInjection",
              "NamingContextLookup",
              "OsCommandInjection",
              "ReflectiveCall",
              "RegexInjection",
              "RegexRoadblocks",
              "ScriptEngineInjection",
              "ServerSideRequestForgery",
              "SqlInjection",
              "XPathInjection")
          .map(name -> "com.code_intelligence.jazzer.sanitizers." + name)
          .collect(Collectors.joining(":"));

  private static final int LONGEST = 4096;

  @TestFactory
  Stream<DynamicTest> nothingButErrorsComesOfAnyInput() {
    return Stream.of(Target.values())
        .filter(HuntsTest::isWanted)
        .map(target -> DynamicTest.dynamicTest(target.name(), () -> hunt(target)));
  }

  private static boolean isWanted(Target target) {
    String one = variable("ONE", "");
    return !one.startsWith(PREFIX) || name(target).equals(one);
  }

  private static String name(Target target) {
    return PREFIX + target.name().toLowerCase(Locale.ROOT);
  }

  private static String variable(String name, String standard) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? standard : value;
  }

  private static void hunt(Target target) throws Exception {
    String input = variable("HUNT_INPUT", "");
    if (!input.isEmpty()) {
      target.attack(Base64.getDecoder().decode(input));
      return;
    }
    assumeTrue(hasLibrary(), "Jazzer has no library for this kind of machine");
    // Jazzer's seeds have 32 bits.
    long seed =
        Long.parseUnsignedLong(variable("HUNT_SEED", newSeed(name(target))).split(":")[0])
            & 0xffff_ffffL;
    Path folder = Files.createTempDirectory("howdah-hunt");
    try {
      jazzer(target, Long.toString(seed), folder);
    } finally {
      delete(folder);
    }
  }

  private static boolean hasLibrary() {
    return Set.of("amd64", "x86_64").contains(System.getProperty("os.arch"))
        || System.getProperty("os.name").startsWith("Mac");
  }

  /** A new one for a hunt that was asked for; in every build the same. */
  private static String newSeed(String name) {
    int seed =
        System.getenv("HUNT_SECONDS") == null ? name.hashCode() : new SecureRandom().nextInt();
    return Integer.toUnsignedString(seed);
  }

  private static void jazzer(Target target, String seed, Path folder)
      throws IOException, InterruptedException {
    Path corpus = Files.createDirectory(folder.resolve("corpus"));
    int count = 0;
    for (byte[] truth : target.seeds()) {
      Files.write(corpus.resolve("seed" + count++), truth);
    }
    Path told = folder.resolve("told");
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx1g",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                "com.code_intelligence.jazzer.Jazzer",
                "--target_class=" + Attack.class.getName(),
                "--target_args=" + target.name(),
                "--instrumentation_includes=dev.howdah.pg.**",
                "--custom_hook_includes=dev.howdah.pg.**",
                "--disabled_hooks=" + ALARMS,
                "--reproducer_path=" + folder,
                "-artifact_prefix=" + folder + "/",
                "-seed=" + seed,
                "-max_len=" + LONGEST,
                "-timeout=" + SLOWEST,
                "-rss_limit_mb=0",
                "-print_final_stats=1",
                "-max_total_time=" + variable("HUNT_SECONDS", SHORTEST),
                corpus.toString()));
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(Redirect.to(told.toFile()))
            .start();
    int status = process.waitFor();
    List<String> lines = Files.readAllLines(told, StandardCharsets.ISO_8859_1);
    String name = name(target);
    if (status != 0) {
      lines.stream().dropWhile(line -> !line.startsWith("==")).forEach(System.err::println);
      fail("The hunt " + name + " fails with HUNT_SEED=" + seed + found(folder, name));
    }
    String rounds =
        lines.stream()
            .filter(line -> line.startsWith("stat::number_of_executed_units"))
            .map(line -> line.replaceAll("\\D", ""))
            .findFirst()
            .orElse("");
    assertFalse(rounds.isEmpty(), () -> String.join("\n", lines));
    System.err.println("The hunt " + name + ": " + rounds + " inputs, seed " + seed);
  }

  private static String found(Path folder, String name) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      StringBuilder all = new StringBuilder();
      for (Path file :
          files
              .filter(f -> f.getFileName().toString().matches("(crash|timeout|oom)-.*"))
              .toList()) {
        all.append("; ONE=")
            .append(name)
            .append(" HUNT_INPUT=")
            .append(Base64.getEncoder().encodeToString(Files.readAllBytes(file)));
      }
      return all.toString();
    }
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
