package dev.howdah.pg.bench;

import java.util.Map;

/** A client under test: its ways to read a query's rows. */
interface Contender extends AutoCloseable {
  /** The name in the results. */
  String name();

  /** Ways of access (untouched, one, all, map, json, assoc) to what runs the query once in that way. */
  Map<String, Work> ways(String testCase, String sql) throws Exception;

  /** Runs a query once; returns something that depends on what was read, so that nothing is optimised away. */
  interface Work {
    Object run() throws Exception;
  }

  @Override
  default void close() throws java.sql.SQLException {}
}
