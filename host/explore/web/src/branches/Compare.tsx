// Two branches next to each other, from their first difference.

import type { Difference, Place } from "../api";
import type { Explorer } from "../model/explorer";
import { Shape } from "../space/Shape";
import { leaves } from "../state/rows";
import { TreeRow } from "../state/TreeRow";
import { ends } from "./ends";

const STEPS_MAX = 200;

export function Compare({ explorer }: { explorer: Explorer }) {
  const { places } = explorer;
  const others = ends(explorer).filter(({ place }) => place !== places.place);
  const other = explorer.other !== null && explorer.other !== places.place ? explorer.other : null;
  const difference = other === null ? null : explorer.comparison.of(other, places.place);
  return (
    <div class="compare">
      <div class="row">
        <label>
          This branch (step {places.index}) with{" "}
          <select
            aria-label="The other branch"
            value={other === null ? "" : String(other)}
            onChange={({ currentTarget: { value } }) => {
              explorer.other = value === "" ? null : Number(value);
              explorer.core.changed();
            }}
          >
            <option value="">choose a moment</option>
            {other !== null && !others.some(({ place }) => place === other) && <option value={String(other)}>step {places.steps.get(other)?.depth}</option>}
            {others.map(({ place, text }) => (
              <option key={place} value={String(place)}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {other !== null && (
          <button type="button" onClick={() => swap(explorer, other)}>
            Go to the other
          </button>
        )}
      </div>
      {other === null && others.length === 0 && <p class="note">There is one branch so far: go back, and take another event.</p>}
      {other !== null && !difference && <p class="note">…</p>}
      {other !== null && difference && <Sides {...{ explorer, other, difference }} />}
    </div>
  );
}

function swap(explorer: Explorer, other: Place): void {
  explorer.other = explorer.places.place;
  explorer.go(other);
}

interface SidesProperties {
  explorer: Explorer;
  other: Place;
  difference: Difference;
}

function Sides({ explorer, other, difference }: SidesProperties) {
  const { places } = explorer;
  const mine = ancestors(explorer, places.place);
  const theirs = ancestors(explorer, other);
  const { shared } = difference;
  return (
    <>
      <p>
        <strong>{sharedText(shared)}</strong>
      </p>
      <div class="sides">
        <Side {...{ explorer, shared }} title={`Other: ${title(explorer, other)}`} places={theirs} />
        <Side {...{ explorer, shared }} title={`This: ${title(explorer, places.place)}`} places={mine} />
      </div>
      <h2>State: other → this</h2>
      {difference.nodes.length === 0 && <p>All nodes are in equal states.</p>}
      {difference.nodes.map(({ node, rows }) => (
        <div key={node} class="tree">
          <h3>{explorer.nodeName(node)}</h3>
          {leaves(rows).map((row, index) => (
            <TreeRow key={index} row={row} />
          ))}
        </div>
      ))}
    </>
  );
}

function Side({ explorer, title, places, shared }: { explorer: Explorer; title: string; places: Place[]; shared: number }) {
  const after = places.slice(shared + 1);
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {after.length === 0 && <p class="note">ends where the branches part</p>}
      <ol start={shared + 1}>
        {after.slice(0, STEPS_MAX).map((place, index) => {
          const event = explorer.places.steps.get(place)?.event;
          return (
            <li key={place} class={index === 0 ? "first-difference" : ""} value={shared + 1 + index}>
              <button type="button" class="choice" onClick={() => explorer.go(place)}>
                {event && (
                  <svg class="sign" width={18} height={18} aria-hidden="true">
                    <Shape kind={event.kind} node={event.node} x={9} y={9} />
                  </svg>
                )}
                <code>{event?.text ?? "start"}</code>
              </button>
            </li>
          );
        })}
      </ol>
      {after.length > STEPS_MAX && <p class="note">{after.length - STEPS_MAX} more steps</p>}
    </section>
  );
}

function title({ places }: Explorer, place: Place): string {
  const step = places.steps.get(place);
  return step?.name ?? `step ${step?.depth ?? 0}`;
}

function ancestors({ places }: Explorer, place: Place): Place[] {
  const all: Place[] = [];
  for (let at: Place | null = place; at !== null; at = places.steps.get(at)?.parent ?? null) all.unshift(at);
  return all;
}

function sharedText(shared: number): string {
  if (shared === 0) return "The branches part at the start.";
  return shared === 1 ? "The first step is shared." : `The first ${shared} steps are shared.`;
}
