// Lines across the drawing: where a prefix ends, where a cycle begins and closes.

import type { Explorer } from "../model/explorer";
import { ROW, type Layout } from "./layout";

interface Properties {
  explorer: Explorer;
  layout: Layout;
  first: number;
  last: number;
}

export function Dividers({ explorer, layout, first, last }: Properties) {
  const { places, marks } = explorer;
  return (
    <g class="dividers">
      {places.line.slice(first, last + 1).flatMap((place, offset) => {
        const row = first + offset;
        const above = marks.of(place, "before").map(({ text }) => ({ text, y: row * ROW }));
        const below = marks.of(place, "after").map(({ text }) => ({ text, y: (row + 1) * ROW }));
        return [...above, ...below].map(({ text, y }) => (
          <g key={`${place} ${text}`}>
            <path class="divider" d={`M0 ${y} H${layout.width}`} />
            <text class="halo left faint" x={layout.width - 8} y={y + 4}>
              {text}
            </text>
          </g>
        ));
      })}
    </g>
  );
}
