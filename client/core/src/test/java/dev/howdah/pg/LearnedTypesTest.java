package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a connection learns of the database's own types, in whatever order it meets them. */
class LearnedTypesTest {
  private Connection connection;

  @BeforeEach
  void connect() {
    connection = PrivateServer.connect();
    connection.script("drop schema if exists learned cascade; create schema learned; set search_path to learned");
  }

  @AfterEach
  void close() {
    connection.close();
  }

  @Test
  void anArrayIsReadByItsOwnDelimiterAlsoWhenItsElementIsKnown() {
    connection.script("create domain crate as box");
    connection.query("select $1::crate is null", "(1,1),(0,0)");
    Row row = connection.query(Options.DEFAULT.binary(false), "select '{(1,1),(0,0);(3,3),(2,2)}'::crate[]").get(0);
    assertEquals(2, ((List<?>) row.getObject(0)).size());
  }

  @Test
  void aLookupThatEndedEarlyDoesNotStandInTheWayOfTheNext() {
    // What a lookup leaves that is cancelled while its query runs.
    connection.script("create type mood as enum ('glad'); prepare howdah_catalog as select 1");
    assertEquals("glad", connection.query("select 'glad'::mood").get(0).getString(0));
    assertEquals(0, connection.query("select 1 from pg_prepared_statements where name = 'howdah_catalog'").size());
  }
}
