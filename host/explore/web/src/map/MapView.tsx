// The map: the states within reach by their distance from the beginning.

import { useEffect, useState } from "preact/hooks";

import type { Explorer } from "../model/explorer";
import { MapCanvas } from "./MapCanvas";

const LIMITS = [100, 1000, 5000];

export function MapView({ explorer }: { explorer: Explorer }) {
  const { atlas, session } = explorer;
  const [property, setProperty] = useState<number | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  useEffect(() => {
    if (!atlas.map && !atlas.isLoading) void atlas.load(atlas.limit);
  }, []);
  const { map } = atlas;
  const load = (limit: number, node: number | null) => {
    setChosen(null);
    void atlas.load(limit, node);
  };
  useEffect(() => atlas.follow());
  return (
    <div class="map">
      <div class="row">
        <label>
          graph of{" "}
          <select
            aria-label="Whose states"
            value={String(atlas.node)}
            onChange={({ currentTarget: { value } }) => load(atlas.limit, value === "null" ? null : Number(value))}
          >
            <option value="null">the cluster</option>
            {session?.nodes.map((name, node) => (
              <option key={node} value={String(node)}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          States{" "}
          <select aria-label="States of the map at most" value={String(atlas.limit)} onChange={({ currentTarget }) => load(Number(currentTarget.value), atlas.node)}>
            {LIMITS.map((limit) => (
              <option key={limit} value={String(limit)}>
                at most {limit}
              </option>
            ))}
          </select>
        </label>
        <label>
          red:{" "}
          <select aria-label="Violated property" value={String(property)} onChange={({ currentTarget: { value } }) => setProperty(value === "null" ? null : Number(value))}>
            <option value="null">any property violated</option>
            {session?.properties.map(({ name }, index) => (
              <option key={name} value={String(index)}>
                {name} violated
              </option>
            ))}
          </select>
        </label>
        <span class="note">{atlas.isLoading ? "…" : map && summary(map.states.length, map.states.filter(({ violated }) => violated.length > 0).length, map.complete, atlas.node !== null)}</span>
      </div>
      {map && <MapCanvas {...{ explorer, map, property, chosen }} onChoose={setChosen} />}
      {map && <Chosen {...{ explorer, chosen }} />}
    </div>
  );
}

function summary(states: number, bad: number, isComplete: boolean, isOfNode: boolean): string {
  const rest = isComplete ? ", all within reach" : isOfNode ? "" : ", nearest first (the graph of one node is smaller)";
  return `${states} states${rest}; ${bad} violate a property`;
}

/** The state that is pointed at, in words. */
function Chosen({ explorer, chosen }: { explorer: Explorer; chosen: number | null }) {
  const { map } = explorer.atlas;
  const state = chosen === null ? null : map?.states[chosen];
  if (!map || chosen === null || !state) {
    const moves = "The wheel, + and - zoom, 0 shows all, dragging moves.";
    if (explorer.atlas.node === null) return <p class="note">Point at a state, or use the arrow keys; click or Enter goes there. {moves}</p>;
    return <p class="note">States of one node, and its events; the ring is its state now. Point at a state, or use the arrow keys. {moves}</p>;
  }
  const into = map.edges.find(({ to }) => to === chosen);
  const names = state.violated.map((index) => explorer.session?.properties[index]?.name ?? String(index));
  return (
    <p class="chosen" role="status">
      state {chosen}, level {state.level}
      {names.length > 0 && <strong class="violated"> violates {names.join(", ")}</strong>}
      {into && (
        <>
          , after <code>{into.text}</code>
        </>
      )}
      : <code>{state.local}</code>
    </p>
  );
}
