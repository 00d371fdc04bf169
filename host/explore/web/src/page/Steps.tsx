// The present step, in words, and the way along the branch.

import type { Explorer } from "../model/explorer";
import { togglePast, toViolation } from "./keys";

export function Steps({ explorer }: { explorer: Explorer }) {
  const { places } = explorer;
  const { index, line } = places;
  const end = line.length - 1;
  const hasViolation = explorer.timeline.nextViolation(explorer.session?.properties.length ?? 0, -1) !== null;
  return (
    <div class="steps">
      <button type="button" aria-label="Start" title="Start (g)" disabled={index === 0} onClick={() => explorer.goIndex(0)}>
        |◀
      </button>
      <button type="button" aria-label="Step before" title="Step before (k)" disabled={index === 0} onClick={() => explorer.move(-1)}>
        ◀
      </button>
      <button type="button" aria-label="Next step" title="Next step (j)" disabled={index === end} onClick={() => explorer.move(1)}>
        ▶
      </button>
      <button type="button" aria-label="End" title="End (G)" disabled={index === end} onClick={() => explorer.goIndex(end)}>
        ▶|
      </button>
      {explorer.view === "time" && (
        <button type="button" aria-pressed={explorer.isPastOnly} title="Only what this step follows from (h)" onClick={() => togglePast(explorer)}>
          causes
        </button>
      )}
      {hasViolation && (
        <button type="button" class="to-violation" title="Next step in which a violation begins (v)" onClick={() => toViolation(explorer)}>
          violation
        </button>
      )}
      <span class="present" role="status" data-place={places.place}>
        step {index} of {end}
      </span>
    </div>
  );
}
