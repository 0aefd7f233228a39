package dev.howdah.pg.wire;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Passwords as SCRAM hashes them: SASLprep (RFC 4013), in the way of PostgreSQL.
 *
 * <p>The server keeps a password that may not be prepared, such as one with a character that
 * Unicode 3.2 did not have, as it is. It looks for such characters before the normalization, not
 * after, and does nothing to ASCII, control characters included. Whoever differs in any of it
 * cannot log in with that password.
 */
final class Saslprep {
  private static final String TABLES = "saslprep.txt";

  private Saslprep() {}

  /** The tables, read when the first password comes that is not ASCII. */
  private static final class Tables {
    private static final Map<String, NavigableMap<Integer, Integer>> ALL = read();

    static boolean has(String table, int codePoint) {
      Map.Entry<Integer, Integer> range = ALL.get(table).floorEntry(codePoint);
      return range != null && codePoint <= range.getValue();
    }

    private static Map<String, NavigableMap<Integer, Integer>> read() {
      Map<String, NavigableMap<Integer, Integer>> tables = new HashMap<>();
      NavigableMap<Integer, Integer> table = null;
      try (BufferedReader lines =
          new BufferedReader(
              new InputStreamReader(
                  Saslprep.class.getResourceAsStream(TABLES), StandardCharsets.US_ASCII))) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          if (line.endsWith(":")) {
            table = new TreeMap<>();
            tables.put(line.substring(0, line.length() - 1), table);
          } else if (!line.startsWith("#")) {
            add(line, table);
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return tables;
    }

    private static void add(String ranges, NavigableMap<Integer, Integer> table) {
      for (String range : ranges.split(" ")) {
        String[] ends = range.split("-");
        table.put(Integer.parseInt(ends[0], 16), Integer.parseInt(ends[ends.length - 1], 16));
      }
    }
  }

  /** The password prepared, or as it is where the server would keep it so. */
  static String prepare(String password) {
    if (password.chars().allMatch(c -> c < 0x80)) {
      return password;
    }
    int[] mapped =
        password
            .codePoints()
            .map(c -> Tables.has("spaces", c) ? ' ' : c)
            .filter(c -> !Tables.has("removed", c))
            .toArray();
    if (mapped.length == 0 || isProhibited(mapped) || isMixed(mapped)) {
      return password;
    }
    return Normalizer.normalize(new String(mapped, 0, mapped.length), Normalizer.Form.NFKC);
  }

  private static boolean isProhibited(int[] codePoints) {
    return IntStream.of(codePoints)
        .anyMatch(c -> Tables.has("prohibited", c) || Tables.has("unassigned", c));
  }

  /**
   * Whether characters that are written from right to left stand beside others or not at both ends.
   */
  private static boolean isMixed(int[] codePoints) {
    if (IntStream.of(codePoints).noneMatch(Saslprep::isRightToLeft)) {
      return false;
    }
    return IntStream.of(codePoints).anyMatch(c -> Tables.has("left-to-right", c))
        || !isRightToLeft(codePoints[0])
        || !isRightToLeft(codePoints[codePoints.length - 1]);
  }

  private static boolean isRightToLeft(int codePoint) {
    return Tables.has("right-to-left", codePoint);
  }
}
