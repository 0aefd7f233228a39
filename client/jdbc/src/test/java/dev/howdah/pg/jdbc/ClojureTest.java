package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import clojure.java.api.Clojure;
import clojure.lang.IPersistentMap;
import clojure.lang.Keyword;
import clojure.lang.RT;
import clojure.lang.Symbol;
import clojure.lang.Var;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

/** Runs the tests that are written in Clojure. */
class ClojureTest {
  @Test
  void clojureJavaJdbcRunsOnThisDriver() {
    Symbol namespace = Symbol.intern("howdah.java-jdbc-test");
    Clojure.var("clojure.core", "require").invoke(Symbol.intern("clojure.test"));
    Clojure.var("clojure.core", "require").invoke(namespace);
    StringWriter output = new StringWriter();
    Var.pushThreadBindings(RT.map(RT.var("clojure.test", "*test-out*"), output, RT.OUT, output));
    try {
      IPersistentMap summary =
          (IPersistentMap) Clojure.var("clojure.test", "run-tests").invoke(namespace);
      assertEquals(0, number(summary, "fail") + number(summary, "error"), output.toString());
      assertTrue(number(summary, "pass") > 20, output.toString());
    } finally {
      Var.popThreadBindings();
    }
  }

  private static long number(IPersistentMap summary, String key) {
    return RT.longCast(summary.valAt(Keyword.intern(key)));
  }
}
