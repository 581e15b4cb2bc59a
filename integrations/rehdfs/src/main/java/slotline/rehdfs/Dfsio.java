package slotline.rehdfs;

import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;

/**
 * Writes files to HDFS at the same time, as TestDFSIO's mappers do: one thread for each file. The writers of all hosts
 * begin together. For each file, a line of JSON says when its first byte was written and how long the file took,
 * without opening it and with closing it.
 */
public final class Dfsio {
  /** TestDFSIO's buffer. */
  private static final int BUFFER = 1_000_000;
  /** Time between the moment at which the last writer is ready, and the moment at which all begin. */
  private static final Duration MARGIN = Duration.ofMillis(3);

  private final DistributedFileSystem files;
  private final String host;

  private Dfsio(DistributedFileSystem files, String host) {
    this.files = files;
    this.host = host;
  }

  /** {@code Dfsio NAME FILES BYTES HOSTS}: FILES files of BYTES each, with the writers of HOSTS hosts in all. */
  public static void main(String[] arguments) throws Exception {
    if (arguments.length != 4) {
      System.err.println("usage: Dfsio NAME FILES BYTES HOSTS");
      System.exit(2);
    }
    String host = arguments[0];
    int count = Integer.parseInt(arguments[1]);
    long bytes = Long.parseLong(arguments[2]);
    int hosts = Integer.parseInt(arguments[3]);
    Configuration conf = new HdfsConfiguration();
    Server.waitForNameNode(conf);
    new Dfsio((DistributedFileSystem) FileSystem.get(conf), host).write(count, bytes, hosts);
  }

  private void write(int count, long bytes, int hosts) throws Exception {
    while (!allAlive(hosts)) {
      Thread.sleep(1);
    }
    List<OutputStream> open = new ArrayList<>();
    for (int at = 0; at < count; at++) {
      open.add(files.create(new Path("/files/" + name(at))));
    }
    Instant begin = together(hosts);
    ExecutorService threads = Executors.newFixedThreadPool(count);
    List<Future<String>> lines = new ArrayList<>();
    for (int at = 0; at < count; at++) {
      String name = name(at);
      OutputStream out = open.get(at);
      lines.add(threads.submit(() -> one(name, out, bytes, begin)));
    }
    threads.shutdown();
    for (Future<String> line : lines) {
      System.out.println(line.get());
    }
  }

  private String name(int at) {
    return host + "-" + at;
  }

  /** Whether as many DataNodes have said how much room they have. */
  private boolean allAlive(int hosts) throws IOException {
    DatanodeInfo[] alive = files.getDataNodeStats(DatanodeReportType.LIVE);
    return Arrays.stream(alive).filter(one -> one.getCapacity() > 0).count() >= hosts;
  }

  /** Waits until the writers of all hosts are ready. Returns the moment at which all begin. */
  private Instant together(int hosts) throws Exception {
    Path ready = new Path("/ready");
    files.mkdirs(new Path(ready, host));
    FileStatus[] others = files.listStatus(ready);
    while (others.length < hosts) {
      Thread.sleep(1);
      others = files.listStatus(ready);
    }
    // The clock of the NameNode is everybody's.
    long last = Arrays.stream(others).mapToLong(FileStatus::getModificationTime).max().orElseThrow();
    return Instant.ofEpochMilli(last).plus(MARGIN);
  }

  private static String one(String name, OutputStream out, long bytes, Instant begin) throws Exception {
    byte[] buffer = new byte[BUFFER];
    Arrays.fill(buffer, (byte) '0');
    Duration early = Duration.between(Instant.now(), begin);
    if (!early.isNegative()) {
      Thread.sleep(early.toMillis(), early.toNanosPart() % 1_000_000);
    }
    Instant start = Instant.now();
    try (OutputStream file = out) {
      for (long left = bytes; left > 0; left -= BUFFER) {
        file.write(buffer, 0, (int) Math.min(left, BUFFER));
      }
    }
    double seconds = Duration.between(start, Instant.now()).toNanos() / 1e9;
    double late = -Math.min(0, early.toNanos()) / 1e9;
    return String.format(
        "{\"file\":\"%s\",\"bytes\":%d,\"start\":%d.%09d,\"seconds\":%.6f,\"late\":%.6f}",
        name, bytes, start.getEpochSecond(), start.getNano(), seconds, late);
  }
}
