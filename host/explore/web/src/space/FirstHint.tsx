// Where no step is taken yet: the ways to begin.

import { isRecorded } from "../client";
import type { Explorer } from "../model/explorer";
import { toEvents, toSearch } from "../page/keys";

export function FirstHint({ explorer }: { explorer: Explorer }) {
  const { places } = explorer;
  if (places.line.length > 1 || isRecorded) return null;
  return (
    <section class="first-hint" aria-label="Ways to begin">
      <p>This is the beginning: each column is a node, and time goes downwards.</p>
      <ul>
        <li>
          <button type="button" onClick={toEvents}>
            Take an event
          </button>{" "}
          of the list on the right. Point at it first to see what it changes; undo, and take another one.
        </li>
        <li>
          <button type="button" onClick={toSearch}>
            Search from here
          </button>{" "}
          for a violation. What is found becomes a branch.
        </li>
        <li>
          <button type="button" onClick={() => explorer.show("map")}>
            See the map
          </button>{" "}
          of the states within reach, and click one to go there.
        </li>
        <li>
          <kbd>?</kbd> lists keys and signs.
        </li>
      </ul>
    </section>
  );
}
