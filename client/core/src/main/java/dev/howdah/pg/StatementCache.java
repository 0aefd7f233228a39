package dev.howdah.pg;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The statements that a session has prepared, the least recently used leaving when there are too
 * many, or too much SQL text.
 *
 * <p>A statement has a name of its own, and is kept, from its second use on, or from the first in a
 * pipeline: one that runs once, or is so long that few like it would fill the cache, is the unnamed
 * one, which the server forgets with the next. So it is with all of them once the server has lost
 * one that nobody gave up: behind a pooler that keeps no statements each would be lost again, and
 * those prepared before would pile up in the server.
 *
 * <p>Names carry a random part: behind a pooler a session of the server serves many clients, and
 * one client's h1 must never run another's statement.
 */
final class StatementCache {
  private static final SecureRandom RANDOM = new SecureRandom();

  /** The part of the bytes that one statement may have. */
  private static final int LONGEST_PART = 16;

  private record Key(String sql, boolean binary, ParameterTypes types) {
    private Key(String sql, Options options) {
      this(sql, options.binary(), options.types());
    }
  }

  private final int capacity;
  private final long mostBytes;
  private final ReentrantLock lock;
  private final String prefix = "howdah_" + Long.toHexString(RANDOM.nextLong()) + "_";
  private final Map<Key, Statement> statements = new LinkedHashMap<>(16, 0.75f, true);

  /**
   * Hashes of what was prepared lately, the oldest leaving first. Two of one hash do no harm: the
   * second is named at once.
   */
  private final Set<Integer> prepared = new LinkedHashSet<>();

  private List<String> closing = new ArrayList<>();

  /** The witnesses of the statement that is unnamed now. */
  private List<String> unnamedWitnesses = List.of();

  private long counter;
  private long bytes;
  private boolean lossy;

  /**
   * The lock guards what threads that share a session write; it is held while statements are looked
   * up.
   */
  StatementCache(int capacity, long mostBytes, ReentrantLock lock) {
    this.capacity = capacity;
    this.mostBytes = mostBytes;
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
    return statements.isEmpty() ? null : statements.get(new Key(sql, options));
  }

  private boolean keeps() {
    return capacity > 0 && !lossy;
  }

  /**
   * The name for a statement that is to be prepared, and may be known to be used again; it is the
   * unnamed one unless it will be kept.
   */
  String newName(String sql, Options options, boolean again) {
    change(
        () -> {
          closing.addAll(unnamedWitnesses);
          unnamedWitnesses = List.of();
        });
    boolean named =
        keeps()
            && (wasPrepared(new Key(sql, options).hashCode()) || again)
            && Statement.textBytes(sql) <= mostBytes / LONGEST_PART;
    return named ? prefix + ++counter : "";
  }

  private boolean wasPrepared(int hash) {
    boolean before = prepared.remove(hash);
    prepared.add(hash);
    if (prepared.size() > 2 * capacity) {
      prepared.remove(prepared.iterator().next());
    }
    return before;
  }

  /**
   * What the names of a statement's witnesses begin with; null where it has none. They outlive an
   * unnamed statement, so where the server loses statements there are none.
   */
  String witnessName(String statementName) {
    return !statementName.isEmpty() ? statementName : keeps() ? prefix + ++counter : null;
  }

  /** Keeps a statement that has a name. */
  void add(Statement statement, Options options) {
    change(
        () -> {
          if (statement.isUnnamed()) {
            unnamedWitnesses = List.of(statement.witnesses);
            return;
          }
          statements.put(new Key(statement.sql, options), statement);
          bytes += statement.textBytes;
          while (statements.size() > capacity || bytes > mostBytes) {
            remove(statements.values().iterator().next());
          }
        });
  }

  /** Gives up a statement; returns whether it was kept. */
  boolean remove(Statement statement) {
    lock.lock();
    try {
      boolean kept = statements.values().remove(statement);
      if (kept) {
        close(statement);
      }
      return kept;
    } finally {
      lock.unlock();
    }
  }

  private void close(Statement statement) {
    bytes -= statement.textBytes;
    closing.add(statement.name);
    closing.addAll(List.of(statement.witnesses));
  }

  /**
   * Definitions may have changed, or a statement was given up by its name: every one is to be
   * prepared anew.
   */
  void invalidate() {
    change(
        () -> {
          statements.values().forEach(this::close);
          statements.clear();
        });
  }

  /**
   * The server has lost a statement that nobody gave up, and would lose others: none is kept any
   * more.
   */
  void lost() {
    lossy = true;
    invalidate();
  }

  /** The server has forgotten all of them. */
  void forget() {
    change(
        () -> {
          statements.clear();
          closing.clear();
          unnamedWitnesses = List.of();
          bytes = 0;
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
