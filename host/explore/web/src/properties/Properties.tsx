// Each property over time, and how it stands now.

import type { Property, Standing } from "../api";
import type { Explorer } from "../model/explorer";
import { classOf, worst, type Letter } from "../standings";

const CLASSES: Record<Letter | ".", string> = { h: "holds", v: "violated", o: "owed", u: "unknown", r: "reached", n: "not-reached", ".": "unseen" };

const MEANINGS: Record<Standing["standing"], string> = {
  holds: "The property holds after this step.",
  violated: "The property is violated after this step.",
  owed: "The property has to hold again, and does not yet.",
  unknown: "It cannot be told after this step.",
  reached: "The goal was reached.",
  "not reached": "The goal was not reached so far.",
};

export function Properties({ explorer }: { explorer: Explorer }) {
  const { session, places } = explorer;
  const standings = places.state?.standings ?? [];
  return (
    <section class="properties" aria-label="Properties over time">
      {session?.properties.map((property, index) => (
        <OfProperty key={property.name} {...{ explorer, property, index, standings }} />
      ))}
      {session?.properties.length === 0 && <p class="note">No property is checked.</p>}
    </section>
  );
}

interface OfPropertyProperties {
  explorer: Explorer;
  property: Property;
  index: number;
  standings: Standing[];
}

function OfProperty({ explorer, property, index, standings }: OfPropertyProperties) {
  const standing = worst(standings, index);
  const reasons = standing ? reasonsOf(standings.filter((other) => other.property === index), standing) : [];
  return (
    <div class="strip">
      <span class="name" title={`${property.kind}, of ${property.scope === "node" ? "each node" : "the cluster"}`}>
        {property.name} <span class="note">{property.kind}</span>
      </span>
      <Strip {...{ explorer, index }} name={property.name} />
      <span class={`now ${standing ? classOf(standing.standing) : "unseen"}`} title={standing ? MEANINGS[standing.standing] : undefined}>
        {standing?.standing ?? "…"}
        {reasons.map(({ nodes, why }, index) => (
          <span key={index}>
            {nodes.length > 0 && (
              <span class="whose">
                {index === 0 ? " by " : "; by "}
                {nodes.map((node) => explorer.nodeName(node)).join(", ")}
              </span>
            )}
            {why !== null && (
              <>
                : <span class="because">{why}</span>
              </>
            )}
          </span>
        ))}
      </span>
    </div>
  );
}

/** The nodes of the standing that shows, by the reason. */
function reasonsOf(standings: Standing[], shown: Standing): { nodes: number[]; why: string | null }[] {
  const all: { nodes: number[]; why: string | null }[] = [];
  const isPlain = shown.standing === "holds" || shown.standing === "not reached";
  for (const { node, why, standing } of standings) {
    if (standing !== shown.standing || (isPlain && why === null)) continue;
    const same = all.find((other) => other.why === why);
    if (!same) all.push({ nodes: node === null ? [] : [node], why });
    else if (node !== null) same.nodes.push(node);
  }
  return all;
}

function Strip({ explorer, index, name }: { explorer: Explorer; index: number; name: string }) {
  const { places } = explorer;
  const strip = explorer.timeline.strip(index);
  const count = Math.max(places.line.length, 1);
  return (
    <svg
      viewBox={`0 0 ${count} 10`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${name} over time`}
      onClick={({ currentTarget, clientX }) => {
        const { left, width } = currentTarget.getBoundingClientRect();
        explorer.goIndex(Math.floor(((clientX - left) / width) * count));
      }}
    >
      {runs(strip).map(({ letter, start, length }) => (
        <rect key={start} class={CLASSES[letter]} x={start} y={0} width={length} height={10} />
      ))}
      <rect class="cursor" x={places.index} y={0} width={1} height={10} />
    </svg>
  );
}

function runs(strip: string): { letter: Letter | "."; start: number; length: number }[] {
  const all: { letter: Letter | "."; start: number; length: number }[] = [];
  for (let index = 0; index < strip.length; index += 1) {
    const letter = (strip[index] ?? ".") as Letter | ".";
    const last = all[all.length - 1];
    if (last?.letter === letter) last.length += 1;
    else all.push({ letter, start: index, length: 1 });
  }
  return all;
}
