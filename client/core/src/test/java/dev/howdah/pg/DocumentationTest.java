package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compiles and runs the Java examples of docs/client.md and docs/client-reference.md, and compares
 * what they print with what they say.
 */
class DocumentationTest {
  private static final Path DOCS = Path.of("../../docs");
  private static final String HEAD =
      "import dev.howdah.pg.*;\n"
          + "import java.io.*;\n"
          + "import java.util.*;\n"
          + "import java.util.concurrent.*;\n"
          + "public class Examples {\n";
  private static final Pattern PRINTS = Pattern.compile("// prints ?(.*)");
  @TempDir Path folder;

  private static List<String> blocks(String language) throws IOException {
    return Pattern.compile("```" + language + "\n(.*?)```", Pattern.DOTALL)
        .matcher(
            Files.readString(DOCS.resolve("client.md"))
                + Files.readString(DOCS.resolve("client-reference.md")))
        .results()
        .map(block -> block.group(1))
        .toList();
  }

  @Test
  void theJavaExamplesRunAndPrintWhatTheySay() throws IOException, ReflectiveOperationException {
    List<String> examples = blocks("java");
    assertTrue(examples.size() > 5);
    compile(examples);
    try (Connection connection = PrivateServer.connect();
        URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
      connection.script("drop table if exists users; " + String.join("", blocks("sql")));
      Class<?> compiled = loader.loadClass("Examples");
      for (int i = 0; i < examples.size(); i++) {
        String said =
            PRINTS
                .matcher(examples.get(i))
                .results()
                .map(line -> line.group(1) + "\n")
                .collect(Collectors.joining());
        assertEquals(
            said.stripTrailing(),
            printed(compiled, i, connection).stripTrailing(),
            examples.get(i));
      }
    }
  }

  @Test
  void theCoordinatesAreThoseOfTheBuild() throws IOException {
    String build = Files.readString(Path.of("../pom.xml"));
    String version = first("<version>(.*?)</version>", build);
    String clojure = first("<clojure.version>(.*?)</clojure.version>", build);
    assertEquals(version, first("<version>(.*?)</version>", blocks("xml").get(0)));
    String libraries = blocks("edn").get(0);
    assertEquals(
        version, first("dev.howdah/howdah-pg-clojure \\{:mvn/version \"(.*?)\"", libraries));
    assertEquals(clojure, first("org.clojure/clojure \\{:mvn/version \"(.*?)\"", libraries));
  }

  private static String first(String pattern, String text) {
    return Pattern.compile(pattern).matcher(text).results().findFirst().orElseThrow().group(1);
  }

  private static String printed(Class<?> compiled, int number, Connection connection)
      throws ReflectiveOperationException {
    PrintStream before = System.out;
    ByteArrayOutputStream seen = new ByteArrayOutputStream();
    System.setOut(new PrintStream(seen, true, StandardCharsets.UTF_8));
    try {
      compiled.getMethod("example" + number, Connection.class).invoke(null, connection);
    } catch (InvocationTargetException e) {
      throw new AssertionError("example " + number + " failed", e.getCause());
    } finally {
      System.setOut(before);
    }
    return seen.toString(StandardCharsets.UTF_8);
  }

  private void compile(List<String> examples) throws IOException {
    String server =
        "postgresql://"
            + PrivateServer.USER
            + "@127.0.0.1:"
            + PrivateServer.shared().port()
            + "/postgres";
    StringBuilder source = new StringBuilder(HEAD);
    for (int i = 0; i < examples.size(); i++) {
      // An example that opens a connection must not find the name taken.
      String name = examples.get(i).contains("Connection connection =") ? "other" : "connection";
      source
          .append("public static void example")
          .append(i)
          .append("(Connection ")
          .append(name)
          .append(") {\n")
          .append(examples.get(i).replace("postgresql://app:secret@localhost/app", server))
          .append("}\n");
    }
    Path file = folder.resolve("Examples.java");
    Files.writeString(file, source.append("}\n"));
    compile(file);
  }

  private void compile(Path file) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter messages = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      boolean compiled =
          compiler
              .getTask(
                  messages,
                  files,
                  null,
                  List.of(
                      "-d", folder.toString(), "-classpath", System.getProperty("java.class.path")),
                  null,
                  files.getJavaFileObjects(file))
              .call();
      assertEquals("", messages.toString());
      assertTrue(compiled);
    }
  }
}
