// Messages as arrows: from sending to receipt; those that are not received end open.

import { nodeX, rowY, type Layout } from "./layout";
import type { Message } from "./messages";
import { COLOURS } from "./Shape";

/** Arrows that are drawn at once; those with an end in sight come first. */
const ARROWS_MAX = 400;

interface Properties {
  layout: Layout;
  all: Message[];
  first: number;
  last: number;
  /** The present row. */
  now: number;
  onGo: (row: number) => void;
}

export function Arrows({ layout, all, first, last, now, onGo }: Properties) {
  const isInSight = (row: number | null) => row !== null && row >= first && row <= last;
  const ending = all.filter(({ sent, end }) => end !== null && (isInSight(sent) || isInSight(end)));
  const passing = all.filter(({ sent, end }) => end !== null && sent < first && end > last);
  return (
    <g aria-hidden="true">
      {[...ending, ...passing].slice(0, ARROWS_MAX).map((message) => (
        <Arrow key={message.id} {...{ layout, message, now, onGo }} />
      ))}
    </g>
  );
}

type ArrowProperties = Pick<Properties, "layout" | "now" | "onGo"> & { message: Message };

function Arrow({ layout, message, now, onGo }: ArrowProperties) {
  const { from, to, sent, end, isLost, isAgain, text } = message;
  const colour = from % COLOURS;
  const state = (end ?? 0) > now ? (sent > now ? " later" : " flying") : "";
  const line = isLost ? "lost" : `message s${colour}${isAgain ? " again" : ""}`;
  const route = path(layout, message);
  return (
    <g class={`arrow${state}`} onClick={() => onGo(end ?? sent)}>
      <title>{isLost ? `${text}, lost in step ${end}` : text}</title>
      <path class={line} d={route} marker-end={isLost ? undefined : `url(#head${colour})`} />
      {isLost && <path class="cross" d={`M${nodeX(layout, to) - 4} ${rowY(end ?? 0) - 4} l8 8 m0 -8 l-8 8`} />}
    </g>
  );
}

function path(layout: Layout, { from, to, sent, end }: Message): string {
  const [x1, y1, x2, y2] = [nodeX(layout, from), rowY(sent), nodeX(layout, to), rowY(end ?? sent)];
  if (from === to) {
    const bulge = 10 + Math.min((end ?? sent) - sent, 4);
    return `M${x1} ${y1} L${x1 - bulge} ${y1 + 10} L${x1 - bulge} ${y2 - 10} L${x2 - 6} ${y2 - 2}`;
  }
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  return `M${x1} ${y1} L${(x2 - ((x2 - x1) / length) * 7).toFixed(1)} ${(y2 - ((y2 - y1) / length) * 7).toFixed(1)}`;
}

export function Heads() {
  return (
    <defs>
      {Array.from({ length: COLOURS }, (_, colour) => (
        <marker key={colour} id={`head${colour}`} viewBox="0 0 8 8" refX={7} refY={4} markerWidth={8} markerHeight={8} markerUnits="userSpaceOnUse" orient="auto">
          <path class={`f${colour}`} d="M0 0.5 L8 4 L0 7.5 z" />
        </marker>
      ))}
    </defs>
  );
}
