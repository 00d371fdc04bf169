// The lifelines of the nodes, and the row of the present step.

import type { Explorer } from "../model/explorer";
import { nodeX, ROW, rowY, type Layout } from "./layout";
import type { Life } from "./lives";

interface Properties {
  explorer: Explorer;
  layout: Layout;
  first: number;
  last: number;
  lives: Life[];
}

export function Columns({ explorer, layout, first, last, lives }: Properties) {
  const { index } = explorer.places;
  const [top, bottom] = [Math.max(first * ROW, ROW / 2 - 6), rowY(last) + ROW];
  const marked = explorer.causes.marked;
  return (
    <g aria-hidden="true">
      <rect class="now-row" x={0} y={index * ROW} width={layout.width} height={ROW} />
      {explorer.places.line.slice(first, last + 1).map((place, offset) =>
        marked.has(place) ? <rect key={place} class="why-row" x={0} y={(first + offset) * ROW + 2} width={4} height={ROW - 4} /> : null,
      )}
      {lives.map((life, node) => (
        <Lifeline key={node} {...{ life, top, bottom }} x={nodeX(layout, node)} end={life.end ?? stuckAt(explorer, node, first, last)} />
      ))}
    </g>
  );
}

/** The row in sight since which a node is stuck. */
function stuckAt({ places }: Explorer, node: number, first: number, last: number): number | null {
  for (let row = first; row <= last; row += 1) {
    if (places.stateOf(places.line[row] ?? -1)?.nodes[node]?.stuck != null) return row;
  }
  return null;
}

function Lifeline({ life, x, top, bottom, end }: { life: Life; x: number; top: number; bottom: number; end: number | null }) {
  const stop = end === null ? bottom : Math.min(rowY(end) + ROW / 2, bottom);
  return (
    <>
      {stop > top && <line class="life" x1={x} x2={x} y1={top} y2={stop} />}
      {life.gaps.map((row) => (
        <rect key={row} class="gap" x={x - 3} y={rowY(row) - 14} width={6} height={28} />
      ))}
      {end !== null && stop > top && (
        <text class="bad halo" x={x + 10} y={stop + 4}>
          {life.end === null ? "stuck" : "crashed"}
        </text>
      )}
      {end !== null && stop > top && <path class="life-end" d={`M${x - 6} ${stop - 6} l12 12 m0 -12 l-12 12`} />}
    </>
  );
}
