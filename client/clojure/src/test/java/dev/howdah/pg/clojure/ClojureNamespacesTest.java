package dev.howdah.pg.clojure;

import static org.junit.jupiter.api.Assertions.assertEquals;

import clojure.java.api.Clojure;
import clojure.lang.IFn;
import clojure.lang.IPersistentMap;
import clojure.lang.Keyword;
import clojure.lang.RT;
import clojure.lang.Symbol;
import clojure.lang.Var;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Runs the tests that are written in Clojure, so that Maven sees and counts them. */
class ClojureNamespacesTest {
  private static final List<String> NAMESPACES =
      List.of(
          "howdah.pg-test",
          "howdah.options-test",
          "howdah.threads-test",
          "howdah.edn-test",
          "howdah.ring-test",
          "howdah.documentation-test");

  private static void require(String namespace) {
    Clojure.var("clojure.core", "require").invoke(Symbol.intern(namespace));
  }

  @TestFactory
  List<DynamicTest> testsWrittenInClojurePass() {
    return NAMESPACES.stream()
        .map(namespace -> DynamicTest.dynamicTest(namespace, () -> passes(namespace)))
        .toList();
  }

  /** What clojure.test prints of a failure becomes the message. */
  private static void passes(String namespace) {
    require("clojure.test");
    require(namespace);
    StringWriter output = new StringWriter();
    IFn run = Clojure.var("clojure.test", "run-tests");
    Var.pushThreadBindings(RT.map(RT.var("clojure.test", "*test-out*"), output, RT.OUT, output));
    try {
      IPersistentMap summary = (IPersistentMap) run.invoke(Symbol.intern(namespace));
      long failed =
          RT.longCast(summary.valAt(Keyword.intern("fail")))
              + RT.longCast(summary.valAt(Keyword.intern("error")));
      assertEquals(0, failed, output.toString());
    } finally {
      Var.popThreadBindings();
    }
  }

  @Test
  void noNamespaceCallsByReflection() {
    StringWriter warnings = new StringWriter();
    Var.pushThreadBindings(
        RT.map(
            RT.var("clojure.core", "*err*"),
            new java.io.PrintWriter(warnings),
            RT.var("clojure.core", "*warn-on-reflection*"),
            true));
    try {
      for (String namespace :
          List.of("howdah.pg.fold", "howdah.pg.options", "howdah.pg", "howdah.pg.ring")) {
        Clojure.var("clojure.core", "require")
            .invoke(Symbol.intern(namespace), Keyword.intern("reload"));
      }
    } finally {
      Var.popThreadBindings();
    }
    assertEquals("", warnings.toString());
  }
}
