package slotline.rehdfs;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Racks in a ring. Each rack writes the copies of its blocks to the rack {@code shift} places further on, so one
 * circuit carries all data that it writes. The shift may grow by one after each period, so that copies of a rack's data
 * come to be in several racks.
 */
public final class Ring {
  private final List<String> racks;
  private final Map<String, Integer> places = new HashMap<>();
  private final int shift;
  private final Duration period;

  /**
   * @param racks the network locations of the racks in the order of the ring, at least two
   * @param shift the distance to the rack of the copies; not a multiple of the number of racks
   * @param period the time after which the shift grows by one; zero: never
   */
  public Ring(List<String> racks, int shift, Duration period) {
    this.racks = List.copyOf(racks);
    this.shift = Math.floorMod(shift, Math.max(racks.size(), 1));
    this.period = period;
    for (String rack : racks) {
      if (places.put(rack, places.size()) != null) {
        throw new IllegalArgumentException("rack " + rack + " is listed twice");
      }
    }
    if (racks.size() < 2) {
      throw new IllegalArgumentException("at least two racks are needed, and there are " + racks.size());
    }
    if (this.shift == 0) {
      throw new IllegalArgumentException(
          "the shift " + shift + " leads back to the writer's rack: there are " + racks.size() + " racks");
    }
    if (period.isNegative()) {
      throw new IllegalArgumentException("the period is negative");
    }
  }

  /** The rack of the copies of what {@code rack} writes at a time; empty if {@code rack} is not in the ring. */
  public Optional<String> after(String rack, Duration now) {
    return Optional.ofNullable(places.get(rack)).map(place -> racks.get((place + shiftAt(now)) % racks.size()));
  }

  /** The shift at a time. It passes through all distances except zero. */
  private int shiftAt(Duration now) {
    long periods = period.isZero() ? 0 : now.dividedBy(period);
    return 1 + Math.floorMod(shift - 1 + periods, racks.size() - 1);
  }
}
