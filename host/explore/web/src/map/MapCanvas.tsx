// The canvas of the map: pointing, zooming, moving, and arrow keys between states.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { StateMap } from "../api";
import type { Explorer } from "../model/explorer";
import { words as wordsOf } from "./labels";
import { layered as layeredOf } from "./layered";
import { paint, position, type Colours, type Looks, type Sight } from "./paint";

interface Properties {
  explorer: Explorer;
  map: StateMap;
  property: number | null;
  chosen: number | null;
  onChoose: (state: number | null) => void;
}

const ZOOMS: Record<string, number> = { "+": 1.25, "-": 0.8, "0": 0 };
const WHOLE: Sight = { scale: 1, left: 0, top: 0 };
const SCALE_MAX = 40;
const DRAG_PX_MIN = 4;
const POINT_PX_MAX = 12;

export function MapCanvas({ explorer, map, property, chosen, onChoose }: Properties) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [sight, setSight] = useState(WHOLE);
  const [size, setSize] = useState({ width: 800, height: 500 });
  const drag = useRef<{ x: number; y: number; sight: Sight; isMoved: boolean } | null>(null);
  const layered = useMemo(() => layeredOf(map), [map]);
  const here = new Set<number>();
  if (map.here != null) here.add(map.here);
  map.states.forEach(({ place }, state) => place === explorer.places.place && here.add(state));
  const isOfNode = explorer.atlas.node !== null;
  const words = useMemo(() => wordsOf(map, explorer.session?.nodes ?? [], isOfNode), [map, isOfNode]);
  const looks: Looks = { map, layered, sight, ...size, property, chosen, here, words, colours: useColours() };

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = size.width * ratio;
    element.height = size.height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(context, looks);
  }, [map, sight, size, property, chosen, explorer.places.place, looks.colours]);

  const nearest = (event: MouseEvent): number | null => {
    const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return near(looks, event.clientX - left, event.clientY - top);
  };
  const zoom = (event: WheelEvent) => {
    event.preventDefault();
    const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    setSight(zoomed(sight, event.deltaY < 0 ? 1.25 : 0.8, event.clientX - left, event.clientY - top));
  };
  return (
    <canvas
      ref={canvas}
      class="map-canvas"
      tabIndex={0}
      role="application"
      aria-label={`Map of ${map.states.length} states; arrow keys move between states, Enter goes there, plus and minus zoom`}
      onWheel={zoom}
      onMouseDown={(event) => {
        drag.current = { x: event.clientX, y: event.clientY, sight, isMoved: false };
      }}
      onMouseMove={(event) => {
        const from = drag.current;
        if (!from || event.buttons === 0) return onChoose(nearest(event));
        const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
        if (Math.abs(dx) + Math.abs(dy) > DRAG_PX_MIN) from.isMoved = true;
        if (from.isMoved) setSight({ ...from.sight, left: from.sight.left - dx / sight.scale, top: from.sight.top - dy / sight.scale });
      }}
      onMouseUp={(event) => {
        const isMoved = drag.current?.isMoved ?? false;
        drag.current = null;
        const state = nearest(event);
        if (!isMoved && state !== null) void explorer.atlas.go(state);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && chosen !== null) void explorer.atlas.go(chosen);
        const zoom = ZOOMS[event.key];
        if (zoom !== undefined) {
          event.preventDefault();
          // Around the chosen state, so that it stays where it is.
          const [x, y] = chosen === null ? [size.width / 2, size.height / 2] : position(looks, chosen);
          setSight(zoomed(sight, zoom, x, y));
          return;
        }
        const next = moved(looks, event.key);
        if (next === null && event.key !== "Enter") return;
        event.preventDefault();
        event.stopPropagation();
        if (next !== null) onChoose(next);
      }}
    />
  );
}

function near(looks: Looks, x: number, y: number): number | null {
  let best: number | null = null;
  let distance = POINT_PX_MAX ** 2;
  looks.map.states.forEach((_, state) => {
    const [sx, sy] = position(looks, state);
    const other = (sx - x) ** 2 + (sy - y) ** 2;
    if (other >= distance) return;
    distance = other;
    best = state;
  });
  return best;
}

function zoomed(sight: Sight, factor: number, x: number, y: number): Sight {
  const scale = Math.min(Math.max(sight.scale * factor, 1), SCALE_MAX);
  if (scale === 1) return WHOLE;
  return { scale, left: sight.left + x / sight.scale - x / scale, top: sight.top + y / sight.scale - y / scale };
}

/** The state that an arrow key leads to: along an edge, or to the next of the level. */
function moved({ map, chosen, layered }: Looks, key: string): number | null {
  if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].includes(key)) return null;
  if (chosen === null) return 0;
  if (key === "ArrowDown") return map.edges.find(({ from, to }) => from === chosen && isLower(map, chosen, to))?.to ?? chosen;
  if (key === "ArrowUp") return map.edges.find(({ from, to }) => to === chosen && isLower(map, from, chosen))?.from ?? chosen;
  const level = layered.spots[chosen]?.level;
  const row = map.states.map((_, state) => state).filter((state) => layered.spots[state]?.level === level);
  row.sort((one, other) => (layered.spots[one]?.x ?? 0) - (layered.spots[other]?.x ?? 0));
  return row[row.indexOf(chosen) + (key === "ArrowLeft" ? -1 : 1)] ?? chosen;
}

function isLower(map: StateMap, upper: number, lower: number): boolean {
  return (map.states[lower]?.level ?? 0) > (map.states[upper]?.level ?? 0);
}

/** The colours of the style sheet, again when light turns to dark. */
function useColours(): Colours {
  const [colours, setColours] = useState(read);
  useEffect(() => {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const listen = () => setColours(read());
    dark.addEventListener("change", listen);
    return () => dark.removeEventListener("change", listen);
  }, []);
  return colours;
}

function read(): Colours {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return { paper: colour("paper"), line: colour("line"), faint: colour("faint"), ink: colour("ink"), bad: colour("bad"), link: colour("link") };
}
