package dev.howdah.pg;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The file of passwords that libpq reads: lines of host:port:database:user:password. */
final class PasswordFile {
  private PasswordFile() {}

  /** The password of the first line that fits, or null. */
  static String find(Config config, Config.Address address) {
    String named = config.text(Setting.PASSFILE);
    String home = System.getProperty("user.home");
    Path file = named != null ? Path.of(named) : Path.of(home == null ? "." : home, ".pgpass");
    if (!Files.isRegularFile(file)) {
      return null;
    }
    try {
      refuseIfOpenToOthers(file);
      return find(Files.readAllLines(file), config, address);
    } catch (IOException e) {
      throw new ConnectionException(
          "the password file " + file + " cannot be read: " + e.getMessage(), e);
    }
  }

  /** The password of the first of these lines that fits, or null. */
  static String find(List<String> lines, Config config, Config.Address address) {
    List<Set<String>> wanted =
        List.of(
            hosts(address),
            Set.of(Integer.toString(address.port())),
            Set.of(config.database()),
            Set.of(config.user()));
    for (String line : lines) {
      String password = match(line, wanted);
      if (password != null) {
        return password;
      }
    }
    return null;
  }

  private static void refuseIfOpenToOthers(Path file) throws IOException {
    if (!file.getFileSystem().supportedFileAttributeViews().contains("posix")) {
      return;
    }
    Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(file);
    boolean open =
        permissions.stream().anyMatch(permission -> !permission.name().startsWith("OWNER_"));
    if (open) {
      throw new ConnectionException(
          "the password file " + file + " is open to others; its permissions must be 0600 or less");
    }
  }

  /**
   * As with libpq a UNIX socket's host is its folder, and localhost in the default one: either of
   * two, see {@link Config}.
   */
  private static Set<String> hosts(Config.Address address) {
    String host = address.host();
    return Config.SOCKET_FOLDERS.contains(host) ? Set.of(host, "localhost") : Set.of(host);
  }

  private static String match(String line, List<Set<String>> wanted) {
    if (line.startsWith("#")) {
      return null;
    }
    List<String> fields = fields(line);
    if (fields.size() != 5) {
      return null;
    }
    for (int i = 0; i < wanted.size(); i++) {
      if (!fields.get(i).equals("*") && !wanted.get(i).contains(fields.get(i))) {
        return null;
      }
    }
    return fields.get(4);
  }

  private static List<String> fields(String line) {
    List<String> fields = new ArrayList<>();
    StringBuilder field = new StringBuilder();
    for (int i = 0; i < line.length(); i++) {
      char c = line.charAt(i);
      if (c == '\\' && i + 1 < line.length()) {
        field.append(line.charAt(++i));
      } else if (c == ':' && fields.size() < 4) {
        fields.add(field.toString());
        field.setLength(0);
      } else {
        field.append(c);
      }
    }
    fields.add(field.toString());
    return fields;
  }
}
