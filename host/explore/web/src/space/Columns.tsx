// The lifelines of the nodes, and the row of the present step.

import type { Explorer } from "../model/explorer";
import { nodeX, ROW, rowY, type Layout } from "./layout";

interface Properties {
  explorer: Explorer;
  layout: Layout;
  first: number;
  last: number;
  rows: number;
}

export function Columns({ explorer, layout, first, last }: Properties) {
  const { index } = explorer.places;
  const [top, bottom] = [Math.max(first * ROW, ROW / 2 - 6), rowY(last) + ROW];
  const marked = explorer.causes.marked;
  return (
    <g aria-hidden="true">
      <rect class="now-row" x={0} y={index * ROW} width={layout.width} height={ROW} />
      {explorer.places.line.slice(first, last + 1).map((place, offset) =>
        marked.has(place) ? <rect key={place} class="why-row" x={0} y={(first + offset) * ROW + 2} width={4} height={ROW - 4} /> : null,
      )}
      {Array.from({ length: layout.nodes }, (_, node) => (
        <line key={node} class="life" x1={nodeX(layout, node)} x2={nodeX(layout, node)} y1={top} y2={bottom} />
      ))}
    </g>
  );
}
