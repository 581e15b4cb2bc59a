package slotline.rehdfs;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/** A NameNode with an empty file system, or a DataNode: {@code Server namenode} or {@code Server datanode}. */
public final class Server {
  private Server() {}

  public static void main(String[] arguments) throws Exception {
    Configuration conf = new HdfsConfiguration();
    String role = arguments.length == 1 ? arguments[0] : "";
    switch (role) {
      case "namenode":
        // Formatting registers metrics under the names that the server uses, too.
        DefaultMetricsSystem.setMiniClusterMode(true);
        NameNode.format(conf);
        NameNode.createNameNode(new String[0], conf).join();
        break;
      case "datanode":
        waitForNameNode(conf);
        DataNode.main(new String[0]);
        break;
      default:
        System.err.println("usage: Server namenode | Server datanode");
        System.exit(2);
    }
  }

  /** Waits until the NameNode listens. Hadoop's own next attempt comes after seconds, which are long in dilated time. */
  static void waitForNameNode(Configuration conf) throws InterruptedException {
    InetSocketAddress server = NameNode.getServiceAddress(conf, true);
    while (!listens(server)) {
      Thread.sleep(1);
    }
  }

  private static boolean listens(InetSocketAddress server) {
    try (Socket socket = new Socket()) {
      socket.connect(server);
      return true;
    } catch (IOException error) {
      return false;
    }
  }
}
