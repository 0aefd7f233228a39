package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PipelineTest {
  @Test
  void statementsThatAreKnownGoOutInOneWrite() {
    try (Connection connection = PrivateServer.connect()) {
      String sql = "select $1::int * 2";
      connection.query(sql, 0);
      connection.query(sql, 0);
      long before = connection.writes();
      List<Pipeline.Answer> answers = new ArrayList<>();
      try (Pipeline pipeline = connection.pipeline()) {
        for (int i = 0; i < 100; i++) {
          answers.add(pipeline.query(sql, i));
        }
      }
      assertEquals(before + 1, connection.writes());
      for (int i = 0; i < 100; i++) {
        assertEquals(2 * i, answers.get(i).get().get(0).getInt(0));
      }
    }
  }

  @Test
  void anErrorEndsItsStatementAlone() {
    try (Connection connection = PrivateServer.connect()) {
      String sql = "select 10 / $1::int";
      try (Pipeline pipeline = connection.pipeline()) {
        Pipeline.Answer first = pipeline.query(sql, 1);
        Pipeline.Answer second = pipeline.query(sql, 0);
        Pipeline.Answer third = pipeline.query(sql, 5);
        assertThrows(PgException.class, () -> pipeline.query(sql));
        assertThrows(PgException.class, () -> pipeline.query("select nonsense"));
        assertEquals(10, first.get().get(0).getInt(0));
        assertEquals("22012", assertThrows(ServerException.class, second::get).sqlState());
        assertEquals(2, third.get().get(0).getInt(0));
      }
      assertEquals(1, connection.query("select 1").size());
    }
  }

  @Test
  void aPipelineLargerThanEveryBufferDoesNotDeadlock() {
    try (Connection connection = PrivateServer.connect()) {
      String sql = "select repeat('x', 100000), $1::text";
      connection.query(sql, "");
      String padding = "y".repeat(20_000);
      List<Pipeline.Answer> answers = new ArrayList<>();
      try (Pipeline pipeline = connection.pipeline()) {
        for (int i = 0; i < 500; i++) {
          answers.add(pipeline.query(sql, padding));
        }
        PgException busy = assertThrows(PgException.class, () -> connection.query("select 1"));
        assertTrue(busy.getMessage().contains("pipeline"), busy.getMessage());
      }
      answers.forEach(answer -> assertEquals(100_000, answer.get().get(0).getString(0).length()));
    }
  }

  @Test
  void aSessionThatEndsInMidPipelineEndsEveryAnswerAndFreesTheConnection() {
    try (Connection connection = PrivateServer.connect()) {
      connection.query("select 1");
      connection.query("select 1");
      Pipeline pipeline = connection.pipeline();
      Pipeline.Answer doomed = pipeline.query("select pg_terminate_backend(pg_backend_pid())");
      Pipeline.Answer behind = pipeline.query("select 1");
      assertThrows(PgException.class, pipeline::close);
      pipeline.close();
      assertThrows(PgException.class, doomed::get);
      assertThrows(PgException.class, behind::get);
      // From another thread, so that a turn that was given back twice or never would be noticed.
      assertTimeoutPreemptively(
          Duration.ofSeconds(20),
          () -> assertThrows(ConnectionException.class, () -> connection.query("select 1")));
    }
  }

  @Test
  void rowsThatCannotBeMadeFailTheirStatementsAndNoOther() {
    try (Connection connection = PrivateServer.connect()) {
      connection.query("select 1");
      Options failing =
          Options.DEFAULT.rows(
              shape -> {
                throw new IllegalStateException("no rows");
              });
      Pipeline pipeline = connection.pipeline(failing);
      Pipeline.Answer first = pipeline.query("select 1");
      Pipeline.Answer second = pipeline.query("select 1");
      assertThrows(IllegalStateException.class, first::get);
      assertThrows(IllegalStateException.class, second::get);
      pipeline.close();
      assertEquals(2, connection.query("select 2").get(0).getInt(0));
    }
  }

  @Test
  void whatAHandlerOfNoticesThrowsIsItsStatementsOwn() {
    Config config =
        PrivateServer.shared()
            .config()
            .notices(
                notice -> {
                  throw new IllegalStateException(notice.message());
                })
            .build();
    try (Connection noisy = Connection.open(config)) {
      noisy.script(
          "create function pg_temp.say(what text) returns text language plpgsql as $$ begin raise"
              + " notice '%', what; return what; end $$");
      try (Pipeline pipeline = noisy.pipeline()) {
        Pipeline.Answer before = pipeline.query("select 1");
        Pipeline.Answer loud = pipeline.query("select pg_temp.say('look')");
        Pipeline.Answer behind = pipeline.query("select 2");
        assertEquals(1, before.get().size());
        assertEquals("look", assertThrows(IllegalStateException.class, loud::get).getMessage());
        assertEquals(2, behind.get().get(0).getInt(0));
      }
      assertEquals(3, noisy.query("select 3").get(0).getInt(0));
      ServerException error =
          assertThrows(
              ServerException.class,
              () -> noisy.script("do $$ begin raise notice 'look'; raise exception 'no'; end $$"));
      assertEquals("look", error.getSuppressed()[0].getMessage());
      assertEquals(4, noisy.query("select 4").get(0).getInt(0));
    }
  }
}
