package dev.howdah.pg.hunts;

import dev.howdah.pg.CopyData;
import dev.howdah.pg.ServerMessages;
import dev.howdah.pg.edn.JsonNotation;
import dev.howdah.pg.jdbc.Addresses;
import dev.howdah.pg.jdbc.Statements;
import dev.howdah.pg.types.BinaryValues;
import dev.howdah.pg.types.TextValues;
import dev.howdah.pg.wire.ScramServer;
import java.util.List;
import java.util.function.Supplier;

/** What is attacked: what reads an input, and true inputs to begin with. */
enum Target {
  BINARY(BinaryValues::attack, BinaryValues::seeds),
  TEXT(TextValues::attack, TextValues::seeds),
  NOTATION(JsonNotation::attack, JsonNotation::seeds),
  COPY(CopyData::attack, CopyData::seeds),
  MESSAGES(ServerMessages::attack, ServerMessages::seeds),
  SCRAM(ScramServer::attack, ScramServer::seeds),
  ADDRESSES(Addresses::attack, Addresses::seeds),
  STATEMENTS(Statements::attack, Statements::seeds);

  private interface Reader {
    void read(byte[] input) throws Exception;
  }

  private final Reader reader;
  private final Supplier<List<byte[]>> seeds;

  Target(Reader reader, Supplier<List<byte[]>> seeds) {
    this.reader = reader;
    this.seeds = seeds;
  }

  List<byte[]> seeds() {
    return seeds.get();
  }

  /** Reads one input. */
  void attack(byte[] input) throws Exception {
    reader.read(input);
  }
}
