// The event that a person points at, as a step that is not taken yet.

import type { Explorer } from "../model/explorer";
import { clipped } from "../plain";
import { beside, nodeX, rowY, type Layout } from "./layout";
import { Shape } from "./Shape";
import { short } from "./words";

export function Ghost({ explorer, layout, row }: { explorer: Explorer; layout: Layout; row: number }) {
  const pointed = explorer.choice.pointed;
  if (!pointed) return null;
  const { node, kind, text } = pointed.enabled;
  const [x, y] = [nodeX(layout, node), rowY(row)];
  const words = short({ node, kind, text, received: [], sent: [] }, explorer.nodeName(node));
  const spot = beside(layout, node, 14, words);
  return (
    <g class="ghost" aria-hidden="true">
      <Shape kind={kind} node={node} x={x} y={y} />
      <text class={spot.isLeft ? "halo left" : "halo"} x={spot.x} y={y + 3}>
        {clipped(words, spot.letters)}
      </text>
    </g>
  );
}
