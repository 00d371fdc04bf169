// The drawing of a branch: nodes as columns, time downwards. Only the rows in sight are drawn.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Explorer } from "../model/explorer";
import { Columns } from "./Columns";
import { Dividers } from "./Dividers";
import { FirstHint } from "./FirstHint";
import { useDrag } from "./drag";
import { layout as layoutOf, ROW, visible } from "./layout";
import { Messages } from "./messages";
import { Names } from "./Names";
import { lives as livesOf } from "./lives";
import { past as pastOf } from "./past";
import { Rows } from "./Rows";

/** Rows on paper. */
const ROWS_PRINTED_MAX = 400;

export function SpaceTime({ explorer }: { explorer: Explorer }) {
  const { places, probes, session } = explorer;
  const frame = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 600, width: 800 });
  const { line, index, version } = places;
  const nodes = session?.nodes.length ?? 1;
  const atStart = places.stateOf(line[0] ?? 0)?.flight ?? null;
  const [kept] = useState(() => new Messages());
  const messages = useMemo(() => kept.of(line, places.steps, atStart), [line, version, atStart]);
  const past = useMemo(() => (explorer.isPastOnly ? pastOf(line, places.steps, index) : null), [explorer.isPastOnly, line, index, version]);

  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => setSight({ top: element.scrollTop, height: element.clientHeight, width: element.clientWidth });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const [top, bottom] = [(index - 1) * ROW, (index + 4) * ROW];
    if (top < element.scrollTop) element.scrollTop = Math.max(top, 0);
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
  }, [index, line, sight.height]);

  const { drag, ...listeners } = useDrag(line.length, ({ from, to }) => explorer.earlier(from, to));
  const layout = layoutOf(sight.width, nodes, probes.all.length);
  const rows = line.length + (explorer.choice.pointed && index === line.length - 1 ? 1 : 0);
  const [first, last] = explorer.isPrinting ? [0, Math.min(rows, ROWS_PRINTED_MAX) - 1] : visible(sight.top, sight.height, rows);
  const inSight = line.slice(first, last + 1);
  useEffect(() => explorer.ahead.want(inSight));
  const crashed = session && line[line.length - 1] === session.line[session.line.length - 1] ? (session.crashed ?? []) : [];
  const lives = useMemo(() => livesOf(nodes, line, places.steps, crashed), [nodes, line, version]);
  const height = explorer.isPrinting ? (last + 2) * ROW : Math.max(rows * ROW + ROW, sight.height - 40);
  return (
    <div class="space-time" ref={frame} tabIndex={0} role="region" aria-label="Space-time: nodes as columns, time downwards; j and k move">
      <Names {...{ explorer, layout }} />
      <div class="sheet" style={{ width: `${layout.width}px`, height: `${height}px` }}>
        <svg class={drag ? "dragged" : ""} width={layout.width} height={height} role="list" aria-label="Steps" {...listeners}>
          <Columns {...{ explorer, layout, first, last, lives }} />
          <Dividers {...{ explorer, layout, first, last }} />
          {drag && <path class="drop" d={`M0 ${drag.to * ROW} H${layout.width}`} />}
          <Rows {...{ explorer, layout, first, last, messages, past }} />
        </svg>
        <FirstHint {...{ explorer }} />
      </div>
    </div>
  );
}
