// The states of the nodes as trees.

import { useState } from "preact/hooks";

import type { Explorer } from "../model/explorer";
import { ends } from "../branches/ends";
import { trees, type Against } from "./against";
import { Tree } from "./Tree";

export function Trees({ explorer }: { explorer: Explorer }) {
  const [against, setAgainst] = useState<Against>("step");
  const [isChangesOnly, setChangesOnly] = useState(false);
  const { places } = explorer;
  const all = trees(explorer, against);
  const front = explorer.node ?? places.steps.get(places.place)?.event?.node ?? null;
  const order = all.map((_, node) => node).sort((one, other) => Number(other === front) - Number(one === front));
  return (
    <section class="states" aria-label="States">
      <h2>State</h2>
      <div class="row against">
        <label>
          against{" "}
          <select
            aria-label="Compare the states with"
            value={String(against)}
            onChange={({ currentTarget: { value } }) => setAgainst(value === "step" || value === "event" ? value : Number(value))}
          >
            <option value="step">the step before</option>
            <option value="event">the node's last event</option>
            {ends(explorer)
              .filter(({ place }) => place !== places.place)
              .map(({ place, text }) => (
                <option key={place} value={String(place)}>
                  {text}
                </option>
              ))}
          </select>
        </label>
        <label>
          <input id="changes-only" type="checkbox" checked={isChangesOnly} onChange={({ currentTarget }) => setChangesOnly(currentTarget.checked)} />{" "}
          changes only
        </label>
      </div>
      {order.map((node) => (
        <Tree key={node} {...{ explorer, node, isChangesOnly }} tree={all[node] ?? null} isFront={node === front} />
      ))}
    </section>
  );
}
