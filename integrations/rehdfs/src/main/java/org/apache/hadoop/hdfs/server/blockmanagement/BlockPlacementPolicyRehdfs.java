package org.apache.hadoop.hdfs.server.blockmanagement;

import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.net.NetworkTopology;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.util.Time;
import slotline.rehdfs.Ring;

/**
 * reHDFS (Etalon, section 6): the first replica of a block is at the writer, as by default. The second is in the rack
 * that follows the writer's in a ring, instead of a random one, and a third in the second's rack. If that rack has no
 * room, the default decides. The class is in this package because only here a policy can read its configuration.
 */
public class BlockPlacementPolicyRehdfs extends BlockPlacementPolicyDefault {
  /** The network locations of all racks, in the order of the ring. */
  public static final String RACKS = "rehdfs.racks";
  /** The distance from a writer's rack to the rack of its copies. Default: 1. */
  public static final String SHIFT = "rehdfs.shift";
  /** The time after which the distance grows by one, such as 10s. Default: 0, which means never. */
  public static final String PERIOD = "rehdfs.shift.period";

  private Ring ring;

  @Override
  public void initialize(
      Configuration conf, FSClusterStats stats, NetworkTopology clusterMap, Host2NodesMap hosts) {
    super.initialize(conf, stats, clusterMap, hosts);
    ring = ring(conf);
  }

  /** The ring that a configuration describes. */
  public static Ring ring(Configuration conf) {
    List<String> racks = List.of(conf.getTrimmedStrings(RACKS));
    Duration period = Duration.ofMillis(conf.getTimeDuration(PERIOD, 0, TimeUnit.SECONDS, TimeUnit.MILLISECONDS));
    try {
      return new Ring(racks, conf.getInt(SHIFT, 1), period);
    } catch (IllegalArgumentException error) {
      String keys = String.join(", ", RACKS, SHIFT, PERIOD);
      throw new IllegalArgumentException("reHDFS (" + keys + "): " + error.getMessage(), error);
    }
  }

  @Override
  protected void chooseRemoteRack(
      int replicas,
      DatanodeDescriptor from,
      Set<Node> excluded,
      long blockSize,
      int mostPerRack,
      List<DatanodeStorageInfo> results,
      boolean avoidStale,
      EnumMap<StorageType, Integer> types)
      throws NotEnoughReplicasException {
    Optional<String> rack = ring.after(from.getNetworkLocation(), Duration.ofMillis(Time.monotonicNow()));
    int before = results.size();
    if (rack.isPresent()) {
      try {
        chooseRandom(replicas, rack.get(), excluded, blockSize, mostPerRack, results, avoidStale, types);
        return;
      } catch (NotEnoughReplicasException error) {
        LOG.debug("No room in {}, the rack after that of {}: the default decides", rack.get(), from, error);
      }
    }
    int missing = replicas - (results.size() - before);
    super.chooseRemoteRack(missing, from, excluded, blockSize, mostPerRack, results, avoidStale, types);
  }
}
