// The tree of places as a drawing: steps to the right, branches below each other.

import { useEffect, useRef } from "preact/hooks";

import type { Place } from "../api";
import type { Explorer } from "../model/explorer";
import { clipped } from "../plain";
import type { Lane } from "./lanes";

const HEIGHT = 24;
const LEFT = 16;
const WIDTH = 760;
/** Pixels for the text at the end of a branch. */
const LABEL = 440;
const STEP_MAX = 26;
/** Places of one lane that are drawn as dots; of longer ones, only ends, names and the present place. */
const DOTS_MAX = 60;

export function TreeDrawing({ explorer, lanes }: { explorer: Explorer; lanes: Lane[] }) {
  const { places } = explorer;
  const frame = useRef<HTMLDivElement>(null);
  const depth = Math.max(...lanes.map((lane) => lane.depth + lane.places.length), 1);
  const room = (frame.current?.clientWidth ?? WIDTH) - LABEL;
  const width = Math.min(STEP_MAX, Math.max(room, LABEL) / depth);
  const x = (step: number) => LEFT + step * width;
  const y = (lane: number) => HEIGHT * (lane + 0.7);
  const line = new Set(places.line);
  const here = lanes.findIndex((lane) => lane.places.includes(places.place));
  useEffect(() => {
    const element = frame.current;
    if (element && here >= 0 && (y(here) > element.scrollTop + element.clientHeight || y(here) < element.scrollTop)) {
      element.scrollTop = y(here) - element.clientHeight / 2;
    }
  }, [here]);
  return (
    <div class="tree-drawing" ref={frame} tabIndex={0} role="region" aria-label="Tree of branches">
      <svg width={x(depth) + LABEL - LEFT} height={y(lanes.length) + 6}>
        {lanes.map((lane) => {
          const last = lane.places[lane.places.length - 1] ?? 0;
          const isShown = line.has(lane.places[0] ?? -1);
          const end = lane.depth + lane.places.length - 1;
          const step = places.steps.get(last);
          return (
            <g key={lane.places[0]} class={isShown ? "lane shown" : "lane"}>
              {lane.from !== null && <path d={`M${x(lane.depth - 1)} ${y(lane.from)} V${y(lane.lane) - 6} q0 6 6 6 H${x(lane.depth)}`} />}
              <path class="whole" d={`M${x(lane.depth)} ${y(lane.lane)} H${x(end)}`} />
              {isShown && <path d={`M${x(lane.depth)} ${y(lane.lane)} H${x(lane.depth + lane.places.filter((place) => line.has(place)).length - 1)}`} />}
              {dots(explorer, lane).map((place) => (
                <Dot key={place} {...{ explorer, place }} isShown={line.has(place)} isEnd={place === last} x={x(places.steps.get(place)?.depth ?? 0)} y={y(lane.lane)} />
              ))}
              <text class={line.has(last) ? "shown" : ""} x={x(end) + 12} y={y(lane.lane) + 4} onClick={() => explorer.go(last)}>
                {clipped(`${end}: ${step?.name ?? step?.event?.text ?? "start"}`, 60)}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** The places of a lane that are drawn. */
function dots({ places }: Explorer, lane: Lane): Place[] {
  if (lane.places.length <= DOTS_MAX) return lane.places;
  const last = lane.places[lane.places.length - 1];
  return lane.places.filter(
    (place) => place === last || place === places.place || places.childrenOf(place).length > 1 || places.steps.get(place)?.name != null,
  );
}

interface DotProperties {
  explorer: Explorer;
  place: Place;
  isEnd: boolean;
  isShown: boolean;
  x: number;
  y: number;
}

function Dot({ explorer, place, isEnd, isShown, x, y }: DotProperties) {
  const { places } = explorer;
  const step = places.steps.get(place);
  const isHere = place === places.place;
  const isFork = places.childrenOf(place).length > 1;
  const isViolated = places.stateOf(place)?.standings.some(({ standing }) => standing === "violated") ?? false;
  const classes = ["dot", isShown ? "shown" : "", isHere ? "here" : "", step?.name ? "named" : "", isViolated ? "bad" : ""].join(" ");
  return (
    <g class={classes} onClick={() => explorer.go(place)}>
      <title>{`step ${step?.depth ?? 0}: ${step?.name ?? step?.event?.text ?? "start"}`}</title>
      <circle class="hit" cx={x} cy={y} r={10} />
      <circle cx={x} cy={y} r={isHere ? 6 : isEnd || isFork || step?.name ? 4.5 : 3} />
    </g>
  );
}
