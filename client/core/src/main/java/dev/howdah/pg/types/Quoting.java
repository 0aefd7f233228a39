package dev.howdah.pg.types;

/** Quotes inside the text form of arrays, composites and ranges. */
final class Quoting {
  private Quoting() {}

  private static boolean isSpace(char c) {
    return c == ' ' || c >= '\t' && c <= '\r';
  }

  /**
   * Whether a part must be quoted: it is empty, or holds a space, a quote, a backslash or a special
   * character.
   */
  static boolean needed(String part, String specials) {
    if (part.isEmpty()) {
      return true;
    }
    for (int i = 0; i < part.length(); i++) {
      char c = part.charAt(i);
      if (c == '"' || c == '\\' || isSpace(c) || specials.indexOf(c) >= 0) {
        return true;
      }
    }
    return false;
  }

  /** A part in quotes; the server doubles what it must escape in composites and ranges. */
  static String doubled(String part) {
    return '"' + part.replace("\\", "\\\\").replace("\"", "\"\"") + '"';
  }

  /** A part in quotes; in arrays and hstore what must be escaped stands behind a backslash. */
  static String escaped(String part) {
    return '"' + part.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }

  /** Reads parts of such a text from left to right. */
  static final class Reader {
    private final String text;
    private final Codec codec;
    private int at;

    Reader(String text, Codec codec) {
      this.text = text;
      this.codec = codec;
    }

    boolean more() {
      return at < text.length();
    }

    char peek() {
      if (!more()) {
        throw codec.malformed(text);
      }
      return text.charAt(at);
    }

    boolean take(char c) {
      if (more() && text.charAt(at) == c) {
        at++;
        return true;
      }
      return false;
    }

    boolean take(String word) {
      if (text.startsWith(word, at)) {
        at += word.length();
        return true;
      }
      return false;
    }

    void expect(char c) {
      if (!take(c)) {
        throw codec.malformed(text);
      }
    }

    /** Nothing may follow. */
    void end() {
      if (more()) {
        throw codec.malformed(text);
      }
    }

    /** A part up to one of the characters that can follow it, its quotes resolved. */
    String part(String ends) {
      StringBuilder part = new StringBuilder();
      boolean quoted = false;
      while (quoted || ends.indexOf(peek()) < 0) {
        char c = peek();
        at++;
        if (c == '\\') {
          part.append(peek());
          at++;
        } else if (c != '"') {
          part.append(c);
        } else if (quoted && take('"')) {
          part.append('"');
        } else {
          quoted = !quoted;
        }
      }
      return part.toString();
    }

    int position() {
      return at;
    }

    String since(int start) {
      return text.substring(start, at);
    }

    /** Skips to just behind the bracket that closes a range, quotes and all. */
    void skipRange() {
      boolean quoted = false;
      while (quoted || peek() != ')' && peek() != ']') {
        char c = peek();
        at++;
        if (c == '\\') {
          at++;
        } else if (c == '"') {
          quoted = !quoted;
        }
      }
      at++;
    }
  }
}
