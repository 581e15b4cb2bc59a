package slotline.rehdfs;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.OutputStream;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicyRehdfs;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockStoragePolicySuite;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeStorageInfo;
import org.apache.hadoop.net.Node;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Test;

/** The policy in a NameNode, with eight DataNodes in four racks, all in this process. */
public class PlacementTest {
  private static final List<String> RACKS = List.of("/r0", "/r1", "/r2", "/r3");
  private static final int PER_RACK = 2;
  private static final int BLOCK = 4096;
  private static MiniDFSCluster cluster;

  @BeforeClass
  public static void start() throws Exception {
    Configuration conf = new Configuration();
    conf.set(DFSConfigKeys.DFS_BLOCK_REPLICATOR_CLASSNAME_KEY, BlockPlacementPolicyRehdfs.class.getName());
    conf.set(BlockPlacementPolicyRehdfs.RACKS, String.join(",", RACKS));
    conf.setInt(DFSConfigKeys.DFS_NAMENODE_MIN_BLOCK_SIZE_KEY, BLOCK);
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, "target/dfs");
    String[] places = new String[RACKS.size() * PER_RACK];
    Arrays.setAll(places, at -> RACKS.get(at / PER_RACK));
    cluster = new MiniDFSCluster.Builder(conf).numDataNodes(places.length).racks(places).build();
    cluster.waitActive();
  }

  @AfterClass
  public static void stop() {
    cluster.shutdown(true);
  }

  private static BlockManager blocks() {
    return cluster.getNamesystem().getBlockManager();
  }

  private static DatanodeDescriptor dataNode(int at) {
    DatanodeID id = cluster.getDataNodes().get(at).getDatanodeId();
    return blocks().getDatanodeManager().getDatanode(id.getDatanodeUuid());
  }

  private static String rackOf(DatanodeStorageInfo replica) {
    return replica.getDatanodeDescriptor().getNetworkLocation();
  }

  private static String next(String rack) {
    return RACKS.get((RACKS.indexOf(rack) + 1) % RACKS.size());
  }

  /** Places for a block that {@code writer} writes. */
  private static DatanodeStorageInfo[] place(int replicas, Node writer, Set<Node> excluded) {
    return blocks()
        .getBlockPlacementPolicy()
        .chooseTarget("/file", replicas, writer, List.of(), false, excluded, BLOCK,
            BlockStoragePolicySuite.createDefaultSuite().getDefaultPolicy(), null);
  }

  @Test
  public void replicasAreAtTheWriterAndInTheNextRack() {
    for (int at = 0; at < RACKS.size() * PER_RACK; at++) {
      DatanodeDescriptor writer = dataNode(at);
      Set<DatanodeDescriptor> seconds = new HashSet<>();
      for (int draw = 0; draw < 30; draw++) {
        DatanodeStorageInfo[] chosen = place(2 + draw % 2, writer, new HashSet<>());
        assertEquals(2 + draw % 2, chosen.length);
        assertEquals(writer, chosen[0].getDatanodeDescriptor());
        for (int copy = 1; copy < chosen.length; copy++) {
          assertEquals(next(writer.getNetworkLocation()), rackOf(chosen[copy]));
        }
        seconds.add(chosen[1].getDatanodeDescriptor());
      }
      assertEquals("all hosts of the rack are used", PER_RACK, seconds.size());
    }
  }

  @Test
  public void aRackWithoutRoomIsReplacedByAnother() {
    DatanodeDescriptor writer = dataNode(0);
    Set<Node> excluded = new HashSet<>(Set.of(dataNode(2), dataNode(3)));
    DatanodeStorageInfo[] chosen = place(2, writer, excluded);
    assertEquals(2, chosen.length);
    assertTrue(rackOf(chosen[1]), Set.of("/r2", "/r3").contains(rackOf(chosen[1])));
  }

  /** The third replica is anywhere then, and the writer sends to the nearest first. */
  @Test
  public void aRackWithOneHostLeftGetsTheSecondReplica() {
    DatanodeStorageInfo[] chosen = place(3, dataNode(0), new HashSet<>(Set.of(dataNode(2))));
    Set<DatanodeDescriptor> hosts = new HashSet<>();
    Arrays.asList(chosen).forEach(replica -> hosts.add(replica.getDatanodeDescriptor()));
    assertEquals(hosts.toString(), 3, hosts.size());
    assertTrue(hosts.toString(), hosts.containsAll(Set.of(dataNode(0), dataNode(3))));
  }

  /** The writer is not a DataNode, so the rack of a random first replica decides. */
  @Test
  public void filesOfOtherClientsFollowTheRing() throws Exception {
    DistributedFileSystem files = cluster.getFileSystem();
    Path path = new Path("/file");
    try (OutputStream out = files.create(path, true, BLOCK, (short) 3, BLOCK)) {
      out.write(new byte[20 * BLOCK]);
    }
    BlockLocation[] written = files.getFileBlockLocations(path, 0, 20 * BLOCK);
    assertEquals(20, written.length);
    for (BlockLocation block : written) {
      Set<String> racks = new HashSet<>();
      for (String place : block.getTopologyPaths()) {
        racks.add(place.substring(0, place.lastIndexOf('/')));
      }
      assertEquals(racks.toString(), 2, racks.size());
      assertTrue(racks.toString(), racks.stream().anyMatch(rack -> racks.contains(next(rack))));
    }
  }
}
