package slotline.rehdfs;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicyRehdfs;
import org.junit.Test;

public class RingTest {
  private static final List<String> RACKS = List.of("/b", "/a", "/d", "/c");

  private static String after(Ring ring, String rack, long seconds) {
    return ring.after(rack, Duration.ofSeconds(seconds)).orElseThrow();
  }

  @Test
  public void theNextRackIsTheNextInTheList() {
    Ring ring = new Ring(RACKS, 1, Duration.ZERO);
    List<String> next = new ArrayList<>();
    RACKS.forEach(rack -> next.add(after(ring, rack, 1_000_000)));
    assertEquals(List.of("/a", "/d", "/c", "/b"), next);
    assertEquals("/d", after(new Ring(RACKS, -2, Duration.ZERO), "/b", 0));
    assertEquals(Optional.empty(), ring.after("/e", Duration.ZERO));
  }

  @Test
  public void theShiftGrowsWithTimeAndNeverLeadsBack() {
    Ring ring = new Ring(RACKS, 2, Duration.ofSeconds(10));
    List<String> seen = new ArrayList<>();
    for (long time : new long[] {0, 9, 10, 20, 30, 40}) {
      seen.add(after(ring, "/b", time));
    }
    assertEquals(List.of("/d", "/d", "/c", "/a", "/d", "/c"), seen);
    for (long time = 0; time < 100; time += 10) {
      HashSet<String> targets = new HashSet<>();
      for (String rack : RACKS) {
        String next = after(ring, rack, time);
        assertTrue("one circuit to another rack", !next.equals(rack) && targets.add(next));
      }
    }
  }

  @Test
  public void wrongSettingsAreRefusedWithTheirNames() {
    for (String[] wrong : new String[][] {
      {"", "1", "0", "there are 0"},
      {"/a", "1", "0", "there are 1"},
      {"/a,/b,/a", "1", "0", "/a is listed twice"},
      {"/a,/b", "2", "0", "the shift 2 leads back"},
      {"/a,/b", "1", "-1", "negative"},
    }) {
      Configuration conf = new Configuration(false);
      conf.set(BlockPlacementPolicyRehdfs.RACKS, wrong[0]);
      conf.set(BlockPlacementPolicyRehdfs.SHIFT, wrong[1]);
      conf.set(BlockPlacementPolicyRehdfs.PERIOD, wrong[2]);
      Exception error =
          assertThrows(IllegalArgumentException.class, () -> BlockPlacementPolicyRehdfs.ring(conf));
      assertTrue(error.getMessage(), error.getMessage().contains(wrong[3]));
      assertTrue(error.getMessage(), error.getMessage().contains("rehdfs.racks"));
    }
  }
}
