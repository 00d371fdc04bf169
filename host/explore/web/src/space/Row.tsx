// One step of the branch: its number, its sign, its text, the values of the probes.

import type { Place } from "../api";
import type { Explorer } from "../model/explorer";
import { clipped } from "../plain";
import { changesOf } from "./changes";
import { beside, LEFT, LETTER, nodeX, PROBE_LETTERS, probeX, rowY, type Layout } from "./layout";
import { Shape } from "./Shape";
import { short } from "./words";

interface Properties {
  explorer: Explorer;
  layout: Layout;
  place: Place;
  row: number;
  isViolation: boolean;
  /** Outside of the causal past that is shown. */
  isOutside: boolean;
}

export function Row({ explorer, layout, place, row, isViolation, isOutside }: Properties) {
  const { places } = explorer;
  const step = places.steps.get(place);
  const event = step?.event ?? null;
  const now = places.index;
  const y = rowY(row);
  const classes = ["event", row > now ? "later" : "", row === now ? "now" : "", isOutside ? "outside" : ""].join(" ");
  const words = event ? event.text : "start";
  const ring = explorer.marks.textOf(place, "ring");
  const critical = explorer.marks.textOf(place, "critical");
  const forks = places.childrenOf(place).length;
  return (
    <g
      class={classes}
      role="listitem"
      aria-label={`Step ${row}: ${words}${isViolation ? ", a property is violated" : ""}${critical === null ? "" : ", critical step"}${ring === null ? "" : ", changes what the violated property reads"}`}
      aria-current={row === now ? "step" : undefined}
      data-row={row}
      onClick={() => explorer.go(place)}
    >
      <title>{[step?.name, words, critical, ring && `changes what the violated property reads: ${ring}`, event && changesOf(places.stateOf(place))].filter(Boolean).join("\n")}</title>
      <text class="number" x={LEFT - 26} y={y + 4}>
        {row}
      </text>
      {forks > 1 && (
        <path class="fork" d={`M${LEFT - 18} ${y - 6} v4 l5 3 v5 m-5 -8 l-5 3 v5`}>
          <title>{forks} branches part here</title>
        </path>
      )}
      {step?.name && (
        <text class="moment halo" x={6} y={y + 18}>
          {clipped(step.name, Math.floor(nodeX(layout, 0) / LETTER))}
        </text>
      )}
      {critical !== null && (
        <text class="bad halo" x={6} y={y + (step?.name ? 28 : 18)}>
          critical
        </text>
      )}
      {event && <Sign {...{ explorer, layout, row, isViolation, place, ring }} isCritical={critical !== null} />}
      {!event && (
        <text class="faint" x={nodeX(layout, 0) + 10} y={y + 4}>
          start
        </text>
      )}
      <Values {...{ explorer, layout, row }} />
    </g>
  );
}

interface SignProperties extends Pick<Properties, "explorer" | "layout" | "row" | "isViolation" | "place"> {
  /** The change of what the violated property reads. */
  ring: string | null;
  isCritical: boolean;
}

function Sign({ explorer, layout, row, isViolation, place, ring, isCritical }: SignProperties) {
  const event = explorer.places.steps.get(place)?.event;
  if (!event) return null;
  const [x, y] = [nodeX(layout, event.node), rowY(row)];
  const words = short(event, explorer.nodeName(event.node));
  const changes = ring ?? changesOf(explorer.places.stateOf(place));
  const spot = beside(layout, event.node, 14, words.length > changes.length ? words : changes);
  const side = spot.isLeft ? " left" : "";
  return (
    <>
      {(ring !== null || isCritical) && <circle class="reads" cx={x} cy={y} r={10.5} />}
      {isViolation && <circle class="violation" cx={x} cy={y} r={ring !== null || isCritical ? 14 : 11} />}
      <Shape kind={event.kind} node={event.node} x={x} y={y} />
      {changes !== "" && (
        <text class={`halo change${side}${ring === null ? "" : " bad"}`} x={spot.x} y={y + 14}>
          {clipped(changes, Math.floor(spot.letters * 1.1))}
        </text>
      )}
      <text class={`halo${side}${event.kind === "fault" || event.kind === "lose" ? " bad" : ""}`} x={spot.x} y={y + 3}>
        {clipped(words, spot.letters)}
      </text>
    </>
  );
}

function Values({ explorer, layout, row }: Pick<Properties, "explorer" | "layout" | "row">) {
  return (
    <>
      {explorer.probes.all.map(({ probe, values }, index) => {
        const value = values[row];
        if (value === undefined) return null;
        const isSame = row > 0 && values[row - 1] === value;
        return (
          <text key={probe} class={isSame ? "faint" : "mark"} x={probeX(layout, index)} y={rowY(row) + 4}>
            <title>{value ?? "no value"}</title>
            {clipped(value ?? "–", PROBE_LETTERS)}
          </text>
        );
      })}
    </>
  );
}
