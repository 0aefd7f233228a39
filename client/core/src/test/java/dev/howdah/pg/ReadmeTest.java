package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles and runs the examples of the README. */
class ReadmeTest {
  private static final Pattern EXAMPLE = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
  @TempDir
  Path folder;

  @Test
  void theExamplesOfTheReadmeRun() throws IOException, ReflectiveOperationException {
    StringBuilder source = new StringBuilder("import dev.howdah.pg.*;\npublic class Examples {\n");
    Matcher examples = EXAMPLE.matcher(Files.readString(Path.of("../README.md")));
    int count = 0;
    while (examples.find()) {
      source.append("public static void example").append(count++).append("(Connection connection) {\n").append(examples.group(1)).append("}\n");
    }
    assertTrue(count > 0);
    Path file = folder.resolve("Examples.java");
    Files.writeString(file, source.append("}\n"));
    compile(file);
    try (Connection connection = PrivateServer.connect();
        URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
      connection.script("drop table if exists users; create table users (id int, email text, created_at timestamptz default now());"
          + " insert into users (id, email) select x, 'u' || x from generate_series(100, 600) x");
      Class<?> compiled = loader.loadClass("Examples");
      for (int i = 0; i < count; i++) {
        run(compiled, i, connection);
      }
    }
  }

  private static void run(Class<?> compiled, int number, Connection connection) throws ReflectiveOperationException {
    try {
      compiled.getMethod("example" + number, Connection.class).invoke(null, connection);
    } catch (InvocationTargetException e) {
      throw new AssertionError("example " + number + " failed", e.getCause());
    }
  }

  private void compile(Path file) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter messages = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      boolean compiled = compiler.getTask(messages, files, null,
          List.of("-d", folder.toString(), "-classpath", System.getProperty("java.class.path")), null,
          files.getJavaFileObjects(file)).call();
      assertEquals("", messages.toString());
      assertTrue(compiled);
    }
  }
}
