// The steps of an answer, from one to the next.

import type { Explorer } from "../model/explorer";
import { nodeX, rowY, type Layout } from "./layout";

export function WhyChain({ explorer, layout }: { explorer: Explorer; layout: Layout }) {
  const { places, causes } = explorer;
  const spots: [number, number][] = [];
  places.line.forEach((place, row) => {
    if (!causes.marked.has(place)) return;
    spots.push([nodeX(layout, places.steps.get(place)?.event?.node ?? 0), rowY(row)]);
  });
  return (
    <g class="why-chain" aria-hidden="true">
      <path d={spots.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join(" ")} />
      {spots.map(([x, y]) => (
        <circle key={y} cx={x} cy={y} r={12} />
      ))}
    </g>
  );
}
