// Moments and branches: the tree of all places, names, and the way to each.

import { useMemo, useState } from "preact/hooks";

import type { Place } from "../api";
import type { Explorer } from "../model/explorer";
import { ends, type End } from "./ends";
import { lanes } from "./lanes";
import { TreeDrawing } from "./TreeDrawing";

export function Branches({ explorer }: { explorer: Explorer }) {
  const { places } = explorer;
  const root = places.line[0] ?? 0;
  const tree = useMemo(() => lanes(places.steps, (place) => places.childrenOf(place), root), [places.version, root]);
  const all = ends(explorer);
  return (
    <div class="branches">
      <TreeDrawing {...{ explorer }} lanes={tree.all} />
      {tree.isCut && <p class="note">Only the first {tree.all.length} branches are drawn.</p>}
      <Naming key={places.place} {...{ explorer }} />
      <h2>
        Moments <span class="count">{all.length}</span>
      </h2>
      <ul class="moments">
        {all.map((end) => (
          <Moment key={end.place} {...{ explorer, end }} />
        ))}
      </ul>
    </div>
  );
}

function Moment({ explorer, end }: { explorer: Explorer; end: End }) {
  const isHere = end.place === explorer.places.place;
  return (
    <li class={isHere ? "here" : ""}>
      <button type="button" class="choice" onClick={() => explorer.go(end.place)} aria-current={isHere ? "true" : undefined}>
        <span class="kind">{end.name !== null ? "named" : "end"}</span>
        <code>{end.text}</code>
      </button>
      <button type="button" disabled={isHere} onClick={() => explorer.compare(end.place)}>
        Compare
      </button>
    </li>
  );
}

/** A name for the present place. */
function Naming({ explorer }: { explorer: Explorer }) {
  const { places } = explorer;
  const [name, setName] = useState(places.steps.get(places.place)?.name ?? "");
  const save = (place: Place) => void explorer.core.attempt(() => places.name(place, name.trim()));
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        save(places.place);
      }}
    >
      <label>
        Name of step {places.index}{" "}
        <input id="moment-name" maxLength={80} value={name} placeholder="both leaders" onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </label>
      <button type="submit">Name</button>
    </form>
  );
}
