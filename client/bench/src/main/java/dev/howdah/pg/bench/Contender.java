package dev.howdah.pg.bench;

import java.io.IOException;
import java.sql.SQLException;
import java.util.Map;

/** A client under test: its ways to read a query's rows. */
interface Contender extends AutoCloseable {
  /**
   * What runs the query once, by system and way of access: howdah:untouched, with one, all, map,
   * json or assoc as ways.
   */
  Map<String, Work> ways(String testCase, String sql);

  @Override
  void close() throws IOException, SQLException;

  /**
   * Runs a query once; returns something that depends on what was read, so that nothing is
   * optimised away.
   */
  interface Work {
    Object run() throws Exception;
  }
}
