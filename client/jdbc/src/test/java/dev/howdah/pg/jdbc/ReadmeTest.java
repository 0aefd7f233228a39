package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.PrivateServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;
import org.junit.jupiter.api.Test;

/** Runs the examples of the module's README. */
class ReadmeTest {
  private static final Pattern EXAMPLE = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  @Test
  void theExamplesRun() throws IOException, SQLException {
    try (Connection connection = Howdah.connect();
        JShell shell = JShell.builder().executionEngine("local").build()) {
      Howdah.execute(
          connection,
          "drop table if exists users",
          "create table users (id int, email text, tags jsonb)",
          "insert into users values (101, 'a@example.org', '[\"new\"]')");
      shell.addToClasspath(System.getProperty("java.class.path"));
      run(
          shell,
          "import java.sql.*;\n"
              + "import dev.howdah.pg.Row;\n"
              + "import dev.howdah.pg.jdbc.HowdahDataSource;\n");
      Matcher examples = EXAMPLE.matcher(Files.readString(Path.of("README.md")));
      int count = 0;
      while (examples.find()) {
        run(
            shell,
            examples.group(1).replace("5432", Integer.toString(PrivateServer.shared().port())));
        count++;
      }
      assertEquals(2, count);
      Howdah.execute(connection, "drop table users");
    }
  }

  private static void run(JShell shell, String source) {
    String rest = source;
    while (!rest.isBlank()) {
      CompletionInfo next = shell.sourceCodeAnalysis().analyzeCompletion(rest);
      assertTrue(next.completeness().isComplete(), rest);
      for (SnippetEvent event : shell.eval(next.source())) {
        assertEquals(
            Snippet.Status.VALID,
            event.status(),
            () -> next.source() + shell.diagnostics(event.snippet()).toList());
        assertNull(event.exception());
      }
      rest = next.remaining();
    }
  }
}
