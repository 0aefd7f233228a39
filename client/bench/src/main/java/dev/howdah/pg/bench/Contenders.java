package dev.howdah.pg.bench;

import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** All clients, connected. */
final class Contenders implements AutoCloseable {
  private final List<Contender> all = new ArrayList<>();
  private final Howdah howdah;

  Contenders(Server server) throws Exception {
    howdah = new Howdah(Main.config(server));
    all.add(howdah);
    all.add(new Pgjdbc(server.jdbcUrl()));
    all.add(new JavaJdbc(server.jdbcUrl()));
    all.add(new Drain(server));
    all.add(new Vertx(server));
  }

  List<Contender> all() {
    return Collections.unmodifiableList(all);
  }

  /** How many times this client writes to the socket for a query that it knows. */
  double writesOf(String sql) throws Exception {
    long before = howdah.writes();
    howdah.ways("t1", sql).get("howdah:untouched").run();
    return howdah.writes() - before;
  }

  @Override
  public void close() throws IOException, SQLException {
    for (Contender contender : all) {
      contender.close();
    }
  }
}
