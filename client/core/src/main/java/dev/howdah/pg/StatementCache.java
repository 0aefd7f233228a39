package dev.howdah.pg;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The statements that a session has prepared, the least recently used leaving when it is full.
 *
 * <p>Names carry a random part: behind a pooler a session of the server serves many clients, and one
 * client's h1 must never run another's statement.
 */
final class StatementCache {
  private static final SecureRandom RANDOM = new SecureRandom();

  private record Key(String sql, boolean binary, ParameterTypes types) {
    private Key(String sql, Options options) {
      this(sql, options.binary(), options.types());
    }
  }

  private final int capacity;
  private final ReentrantLock lock;
  private final String prefix = "howdah_" + Long.toHexString(RANDOM.nextLong()) + "_";
  private final Map<Key, Statement> statements = new LinkedHashMap<>(16, 0.75f, true);
  private List<String> closing = new ArrayList<>();
  private long counter;

  /** The lock guards what threads that share a session write; it is held while statements are looked up. */
  StatementCache(int capacity, ReentrantLock lock) {
    this.capacity = capacity;
    this.lock = lock;
  }

  private void change(Runnable change) {
    lock.lock();
    try {
      change.run();
    } finally {
      lock.unlock();
    }
  }

  Statement find(String sql, Options options) {
    return capacity == 0 ? null : statements.get(new Key(sql, options));
  }

  /** The name for a new statement; the unnamed one where nothing is kept. */
  String newName() {
    return capacity == 0 ? "" : prefix + ++counter;
  }

  void add(Statement statement, Options options) {
    if (capacity == 0) {
      return;
    }
    change(() -> {
      statements.put(new Key(statement.sql, options), statement);
      if (statements.size() > capacity) {
        Key eldest = statements.keySet().iterator().next();
        close(statements.remove(eldest));
      }
    });
  }

  void remove(Statement statement) {
    change(() -> {
      if (statements.values().remove(statement)) {
        close(statement);
      }
    });
  }

  private void close(Statement statement) {
    closing.add(statement.name);
    closing.addAll(List.of(statement.witnesses));
  }

  /** The definitions may have changed: every statement is to be prepared anew. */
  void invalidate() {
    change(() -> {
      statements.values().forEach(this::close);
      statements.clear();
    });
  }

  /** The server has forgotten all of them. */
  void forget() {
    change(() -> {
      statements.clear();
      closing.clear();
    });
  }

  /** Names to be closed in the server, with the next message that is sent. */
  List<String> takeClosing() {
    if (closing.isEmpty()) {
      return List.of();
    }
    List<String> taken = closing;
    closing = new ArrayList<>();
    return taken;
  }

  int size() {
    return statements.size();
  }
}
