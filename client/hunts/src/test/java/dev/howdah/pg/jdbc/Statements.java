package dev.howdah.pg.jdbc;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The scanner of SQL beside a slower one: it finds the same placeholders and the same number of
 * statements, and changes nothing else. A call in braces is understood or left alone.
 */
public final class Statements {
  /**
   * What hides a question mark, but for nested comments and dollar quotes, which no pattern
   * describes.
   */
  private static final Pattern TOKEN =
      Pattern.compile(
          "(?<line>--[^\\r\\n]*+)|(?<name>\"[^\"]*+\"?+)"
              + "|(?<word>[\\w$[^\\x00-\\x7f]]++)|(?<space>\\s++)|(?<string>'[^']*+(?:'|\\z))",
          Pattern.DOTALL);

  private static final Pattern TAG = Pattern.compile("\\$(?:(?!\\d)[\\w[^\\x00-\\x7f]]*+)\\$");
  private static final Pattern ESCAPED =
      Pattern.compile("'(?:[^'\\\\]|\\\\.|\\\\\\z)*+(?:'|\\z)", Pattern.DOTALL);
  private static final Pattern GOES_ON =
      Pattern.compile(
          "(?:|(?:[ \\t\\f\\x0b]|--[^\\r\\n]*+)*[\\r\\n](?:\\s|--[^\\r\\n]*+[\\r\\n])*)'");

  private static final String MARK = "<*>";

  private Statements() {}

  /** SQL with everything that hides a placeholder. */
  public static List<byte[]> seeds() {
    List<String> sql =
        List.of(
            "select '?', ?::text",
            "select E'\\'?', ?",
            "select e'\\\\', ?",
            "select E'a'\n '\\'?', ?",
            "select E'a'--?\n--\r'\\'?', ?",
            "select '\\', ?",
            "select $$?$$, ?",
            "select $a$ $$?$$ $b$?$a$, ?",
            "select 1 as \"a\"\"?\", ?",
            "select 1 as a$b$, ? as b$b$",
            "select /* /* ? */ ? */ 1, ? -- ?\n, ?;",
            "select '{}'::jsonb ??| array['a'], ?[1] is not null",
            "select U&'?', B'1', N'?', ?;;select 2",
            "insert into t values (?, (?)) returning *",
            "with x as (select 1) delete from t where a = ?",
            "{call f(?)}",
            "{? = call \"a\".b(?, '}')}",
            "{ call p }",
            "create rule r as on insert to t do (select 1; select 2)",
            "update t set a = $1 where b = $ä$?$ä$");
    List<byte[]> seeds = new ArrayList<>();
    sql.forEach(
        text -> {
          seeds.add(("a" + text).getBytes(StandardCharsets.UTF_8));
          seeds.add(("b" + text).getBytes(StandardCharsets.UTF_8));
        });
    return seeds;
  }

  /** Reads one statement; the first byte says whether a backslash always escapes. */
  public static void attack(byte[] input) {
    if (input.length == 0) {
      return;
    }
    boolean backslashes = (input[0] & 1) == 0;
    String sql = new String(input, 1, input.length - 1, StandardCharsets.UTF_8);
    ParsedSql parsed = new SqlScanner(sql, backslashes).scan();
    Slow slow = new Slow(sql, backslashes);
    same(slow.numbered.toString(), parsed.text(), sql);
    same(slow.statements > 1, parsed.isScript(), sql);
    same(parsed.text(), parsed.typed(new String[parsed.parameters()]).text(), sql);
    parsed.bare().returning("*").text();
    if (!sql.contains(MARK)) {
      // What was put behind the first statement leaves the rest as it was.
      same(parsed.text(), parsed.returning(MARK).text().replace(" returning " + MARK, ""), sql);
    }
    CallSyntax call = CallSyntax.of(sql);
    call.name();
    if (call.called() == null) {
      same(sql, call.sql(), sql);
    } else {
      call.ofProcedure();
    }
  }

  private static void same(Object expected, Object actual, String sql) {
    if (!expected.equals(actual)) {
      throw new AssertionError(sql + ": " + actual + " and not " + expected);
    }
  }

  /** Takes one token after the other from the front, by patterns. */
  private static final class Slow {
    final StringBuilder numbered = new StringBuilder();
    int statements;
    private int parameters;
    private String rest;

    Slow(String sql, boolean backslashes) {
      rest = sql;
      int depth = 0;
      boolean within = false;
      while (!rest.isEmpty()) {
        Matcher token = TOKEN.matcher(rest);
        boolean found = token.lookingAt();
        boolean blank =
            found && (token.group("line") != null || token.group("space") != null)
                || rest.startsWith("/*");
        if (rest.startsWith(";") && depth == 0) {
          within = false;
        } else if (!blank && !within) {
          within = true;
          statements++;
        }
        if (rest.startsWith("/*")) {
          take(comment());
        } else if (rest.startsWith("??")) {
          numbered.append('?');
          rest = rest.substring(2);
        } else if (rest.startsWith("?")) {
          numbered.append('$').append(++parameters);
          rest = rest.substring(1);
        } else if (rest.startsWith("$")) {
          take(dollar());
        } else if (found
            && token.group("word") != null
            && token.group().equalsIgnoreCase("e")
            && rest.startsWith("'", 1)) {
          take(1);
          string(true);
        } else if (found && token.group("string") != null) {
          string(backslashes);
        } else if (found) {
          take(token.end());
        } else {
          depth =
              Math.max(
                  0,
                  depth
                      + ("([".indexOf(rest.charAt(0)) >= 0
                          ? 1
                          : ")]".indexOf(rest.charAt(0)) >= 0 ? -1 : 0));
          take(1);
        }
      }
    }

    private void take(int count) {
      numbered.append(rest, 0, count);
      rest = rest.substring(count);
    }

    private void string(boolean escapes) {
      Matcher goesOn = GOES_ON.matcher(rest);
      while (goesOn.lookingAt()) {
        take(goesOn.end() - 1);
        Matcher string = (escapes ? ESCAPED : TOKEN).matcher(rest);
        string.lookingAt();
        take(string.end());
        goesOn = GOES_ON.matcher(rest);
      }
    }

    private int comment() {
      int depth = 0;
      Matcher bracket = Pattern.compile("/\\*|\\*/").matcher(rest);
      while (bracket.find()) {
        depth += bracket.group().equals("/*") ? 1 : -1;
        if (depth == 0) {
          return bracket.end();
        }
      }
      return rest.length();
    }

    private int dollar() {
      Matcher tag = TAG.matcher(rest);
      if (!tag.lookingAt()) {
        return 1;
      }
      int end = rest.indexOf(tag.group(), tag.end());
      return end < 0 ? rest.length() : end + tag.end();
    }
  }
}
