package dev.howdah.pg.bench;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.types.TypeOptions;
import dev.howdah.pg.types.TypeRegistry;
import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/** What one value costs: decoded from the wire, and written as JSON from the wire. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class CodecBenchmark {
  private static final Map<String, Object> VALUES =
      Map.of(
          "int4",
          123_456,
          "int8",
          123_456_789_012L,
          "float8",
          3.141592653589793,
          "numeric",
          new BigDecimal("12345.6789"),
          "text",
          "some text of ordinary length",
          "uuid",
          UUID.fromString("ba0bab1e-0000-4000-8000-000000000001"),
          "timestamptz",
          OffsetDateTime.parse("2024-05-01T12:34:56.789012Z"),
          "date",
          LocalDate.of(2024, 5, 1),
          "jsonb",
          "{\"a\": [1, 2, 3], \"b\": \"text\"}");
  private static final Map<String, Integer> OIDS =
      Map.of(
          "int4",
          23,
          "int8",
          20,
          "float8",
          701,
          "numeric",
          1700,
          "text",
          25,
          "uuid",
          2950,
          "timestamptz",
          1184,
          "date",
          1082,
          "jsonb",
          3802);

  /** The type. */
  @Param({"int4", "int8", "float8", "numeric", "text", "uuid", "timestamptz", "date", "jsonb"})
  public String type;

  private Codec codec;
  private byte[] bytes;
  private final WireOutput out = new WireOutput(1 << 10);

  /** Makes the value's bytes. */
  @Setup
  public void prepare() {
    codec = new TypeRegistry(TypeOptions.NONE).codec(OIDS.get(type));
    WireOutput value = new WireOutput(64);
    codec.encode(VALUES.get(type), value);
    bytes = value.toByteArray();
  }

  /** The value as an object. */
  @Benchmark
  public Object decode() {
    return codec.decode(bytes, 0, bytes.length);
  }

  /** The value as JSON. */
  @Benchmark
  public int json() {
    out.clear();
    codec.json(bytes, 0, bytes.length, out);
    return out.size();
  }

  /**
   * Runs all of them in a process of their own and reports them as cases codec_decode_TYPE and
   * codec_json_TYPE.
   */
  static void run() throws RunnerException, IOException {
    OptionsBuilder options = new OptionsBuilder();
    options
        .include(CodecBenchmark.class.getName())
        .forks(1)
        .warmupIterations(2)
        .warmupTime(TimeValue.milliseconds(500))
        .measurementIterations(5)
        .measurementTime(TimeValue.milliseconds(300))
        .verbosity(org.openjdk.jmh.runner.options.VerboseMode.SILENT);
    for (RunResult result : new Runner(options.build()).run()) {
      String name = result.getParams().getBenchmark();
      double[] iterations =
          result.getBenchmarkResults().stream()
              .flatMap(fork -> fork.getIterationResults().stream())
              .mapToDouble(iteration -> iteration.getPrimaryResult().getScore())
              .toArray();
      Report.add(
          "codec_"
              + name.substring(name.lastIndexOf('.') + 1)
              + "_"
              + result.getParams().getParam("type"),
          "howdah",
          "ns_per_value",
          iterations);
    }
  }
}
