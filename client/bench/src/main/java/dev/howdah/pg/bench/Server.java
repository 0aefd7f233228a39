package dev.howdah.pg.bench;

/** The server that all systems ask, over TCP. */
record Server(String host, int port, String user, String database) {
  static Server ofEnvironment() {
    return new Server(
        needed("PGHOST"),
        Integer.parseInt(needed("PGPORT")),
        needed("PGUSER"),
        needed("PGDATABASE"));
  }

  private static String needed(String name) {
    String value = System.getenv(name);
    if (value == null) {
      throw new IllegalStateException(
          name + " must name the server; make bench-client starts one and sets it");
    }
    return value;
  }

  /** The address for pgjdbc. */
  String jdbcUrl() {
    return "jdbc:postgresql://" + host + ":" + port + "/" + database + "?user=" + user;
  }
}
