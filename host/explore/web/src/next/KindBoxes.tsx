// A box per kind of message: without it, messages of the kind are not drawn.

import { useMemo } from "preact/hooks";

import type { Explorer } from "../model/explorer";

export function KindBoxes({ explorer }: { explorer: Explorer }) {
  const { places, kinds } = explorer;
  const atStart = places.stateOf(places.line[0] ?? 0)?.flight ?? [];
  const all = useMemo(() => kinds.of(places.line, places.steps, atStart), [places.line, places.version, atStart.length]);
  if (all.length < 2 && kinds.hidden.size === 0) return null;
  return (
    <details class="kinds" open={kinds.hidden.size > 0 || undefined}>
      <summary>
        Kinds of messages <span class="count">{kinds.hidden.size > 0 ? `${kinds.hidden.size} hidden` : all.length}</span>
      </summary>
      <div class="row">
        {all.map((kind) => (
          <label key={kind}>
            <input type="checkbox" checked={!kinds.hidden.has(kind)} onChange={() => explorer.toggleKind(kind)} /> <code>{kind}</code>
          </label>
        ))}
      </div>
    </details>
  );
}
