// The names of nodes and probes above their columns.

import type { Explorer } from "../model/explorer";
import { clipped } from "../plain";
import { LETTER, nodeX, PROBE_LETTERS, probeX, type Layout } from "./layout";
import { COLOURS } from "./Shape";

export function Names({ explorer, layout }: { explorer: Explorer; layout: Layout }) {
  const letters = Math.floor((layout.column - 22) / LETTER);
  return (
    <div class="names" style={{ width: `${layout.width}px` }}>
      {explorer.session?.nodes.map((name, node) => (
        <button
          key={node}
          type="button"
          class={`name c${node % COLOURS}`}
          aria-pressed={explorer.node === node}
          title={`State of ${name}`}
          style={{ left: `${nodeX(layout, node) - 14}px` }}
          onClick={() => {
            explorer.node = explorer.node === node ? null : node;
            explorer.core.changed();
          }}
        >
          {layout.isDense ? node : clipped(name, letters)}
        </button>
      ))}
      {explorer.probes.all.map(({ probe, expression, values }, index) => (
        <span key={probe} class="probe-name" title={expression} style={{ left: `${probeX(layout, index)}px` }}>
          <code>{clipped(expression, PROBE_LETTERS - 2)}</code>
          {values.length < explorer.places.line.length && (
            <span class="note" role="status">
              {" "}
              {Math.floor((100 * values.length) / explorer.places.line.length)} %
            </span>
          )}
          <button type="button" class="tiny" aria-label={`Remove the probe ${expression}`} onClick={() => void explorer.probes.remove(probe)}>
            ×
          </button>
        </span>
      ))}
    </div>
  );
}
