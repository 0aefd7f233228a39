package dev.howdah.pg;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Connection strings as libpq reads them: URIs and lists of name=value. */
final class ConnectionString {
  private ConnectionString() {}

  static Config.Builder parse(String source, Config.Builder builder) {
    for (String scheme : List.of("postgresql://", "postgres://")) {
      if (source.startsWith(scheme)) {
        return uri(source.substring(scheme.length()), builder);
      }
    }
    return pairs(source, builder);
  }

  private static Config.Builder uri(String source, Config.Builder builder) {
    String rest = source;
    int question = rest.indexOf('?');
    String query = question < 0 ? "" : rest.substring(question + 1);
    rest = question < 0 ? rest : rest.substring(0, question);
    int slash = rest.indexOf('/');
    if (slash >= 0 && slash + 1 < rest.length()) {
      builder.database(decoded(rest.substring(slash + 1)));
    }
    rest = slash < 0 ? rest : rest.substring(0, slash);
    int at = rest.lastIndexOf('@');
    if (at >= 0) {
      credentials(rest.substring(0, at), builder);
    }
    hosts(rest.substring(at + 1), builder);
    for (String pair : query.isEmpty() ? new String[0] : query.split("&")) {
      int equals = pair.indexOf('=');
      if (equals < 0) {
        throw new IllegalArgumentException("in the URI's settings there is no = in " + pair);
      }
      set(decoded(pair.substring(0, equals)), decoded(pair.substring(equals + 1)), builder);
    }
    return builder;
  }

  /**
   * As with libpq, a URI may say ssl=true, as those of JDBC do; and ssl=false, which libpq has no
   * word for, is theirs too.
   */
  private static void set(String name, String value, Config.Builder builder) {
    if (!name.equals("ssl")) {
      builder.set(name, value);
    } else if (value.equals("true")) {
      builder.set("sslmode", "require");
    } else if (value.equals("false")) {
      builder.set("sslmode", "disable");
    } else {
      throw new IllegalArgumentException(
          "in a URI ssl can only be true or false; sslmode says more");
    }
  }

  private static void credentials(String text, Config.Builder builder) {
    int colon = text.indexOf(':');
    builder.user(decoded(colon < 0 ? text : text.substring(0, colon)));
    if (colon >= 0) {
      builder.password(decoded(text.substring(colon + 1)));
    }
  }

  private static void hosts(String text, Config.Builder builder) {
    if (text.isEmpty()) {
      return;
    }
    List<String> hosts = new ArrayList<>();
    List<String> ports = new ArrayList<>();
    for (String part : text.split(",", -1)) {
      int end = part.startsWith("[") ? part.indexOf(']') : -1;
      int colon = part.indexOf(':', Math.max(0, end));
      String host = colon < 0 ? part : part.substring(0, colon);
      hosts.add(decoded(end > 0 ? host.substring(1, end) : host));
      ports.add(colon < 0 ? "" : part.substring(colon + 1));
    }
    builder.host(String.join(",", hosts));
    if (ports.stream().anyMatch(port -> !port.isEmpty())) {
      builder.set("port", String.join(",", ports));
    }
  }

  /** URLDecoder makes a space of a plus, which in these URIs is a plus. */
  private static String decoded(String text) {
    try {
      return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "in the URI the percent encoding is wrong: " + e.getMessage());
    }
  }

  private static Config.Builder pairs(String source, Config.Builder builder) {
    int at = 0;
    while (at < source.length()) {
      if (Character.isWhitespace(source.charAt(at))) {
        at++;
        continue;
      }
      int equals = source.indexOf('=', at);
      if (equals < 0) {
        throw new IllegalArgumentException("a connection string is a URI or a list of name=value");
      }
      StringBuilder value = new StringBuilder();
      at =
          value(
              source,
              skipSpace(source, equals + 1),
              value,
              source.substring(at, equals).trim(),
              builder);
    }
    return builder;
  }

  private static int skipSpace(String source, int from) {
    int at = from;
    while (at < source.length() && Character.isWhitespace(source.charAt(at))) {
      at++;
    }
    return at;
  }

  /**
   * Reads one value, in single quotes or up to a space; a backslash takes the next character as it
   * is.
   */
  private static int value(
      String source, int from, StringBuilder value, String name, Config.Builder builder) {
    boolean quoted = from < source.length() && source.charAt(from) == '\'';
    int at = quoted ? from + 1 : from;
    while (at < source.length()
        && (quoted ? source.charAt(at) != '\'' : !Character.isWhitespace(source.charAt(at)))) {
      if (source.charAt(at) == '\\' && at + 1 < source.length()) {
        at++;
      }
      value.append(source.charAt(at++));
    }
    if (quoted && at == source.length()) {
      throw new IllegalArgumentException("in the connection string a quote is not closed");
    }
    builder.set(name, value.toString());
    return quoted ? at + 1 : at;
  }
}
