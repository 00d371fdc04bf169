// The steps in sight with their messages.

import type { Explorer } from "../model/explorer";
import { kindOf } from "../model/kinds";
import { Arrows, Heads } from "./Arrows";
import { Ghost } from "./Ghost";
import { ROW, type Layout } from "./layout";
import type { Message } from "./messages";
import { Open } from "./Open";
import { Row } from "./Row";
import { WhyChain } from "./WhyChain";

interface Properties {
  explorer: Explorer;
  layout: Layout;
  first: number;
  last: number;
  messages: Message[];
  /** The rows that the present one follows from, if only they are shown. */
  past: Set<number> | null;
}

export function Rows({ explorer, layout, first, last, messages: all, past }: Properties) {
  const { places } = explorer;
  const now = places.index;
  const { kinds } = explorer;
  const messages = kinds.hidden.size === 0 ? all : all.filter(({ text }) => !kinds.hidden.has(kindOf(text)));
  const open = messages.filter(({ sent, end }) => end === null && sent >= first && sent <= last && (!past || past.has(sent)));
  const senders = new Map<string, Message[]>();
  for (const message of open) {
    const key = `${message.sent} ${message.from}`;
    senders.set(key, [...(senders.get(key) ?? []), message]);
  }
  const violated = violations(explorer, first, last);
  return (
    <>
      <Heads />
      <Hits {...{ explorer, layout, first, last }} />
      <Arrows onGo={(row) => explorer.goIndex(row)} {...{ layout, first, last, now, all: past ? messages.filter(({ sent, end }) => past.has(sent) && end !== null && past.has(end)) : messages }} />
      {explorer.causes.answer && <WhyChain {...{ explorer, layout }} />}
      {[...senders.entries()].map(([key, all]) => (
        <Open
          key={key}
          row={all[0]?.sent ?? 0}
          messages={all}
          names={(node) => explorer.nodeName(node)}
          onWhy={(message) => why(explorer, message)}
          {...{ layout, now }}
        />
      ))}
      {places.line.slice(first, last + 1).map((place, offset) => {
        const row = first + offset;
        return <Row key={place} isViolation={violated.has(row)} isOutside={(past !== null && !past.has(row)) || explorer.kinds.isHidden(places.steps.get(place)?.event ?? null)} {...{ explorer, layout, place, row }} />;
      })}
      {explorer.choice.pointed && now === places.line.length - 1 && <Ghost {...{ explorer, layout }} row={now + 1} />}
    </>
  );
}

/** Rows can be clicked all over, below what is drawn in them. */
function Hits({ explorer, layout, first, last }: Pick<Properties, "explorer" | "layout" | "first" | "last">) {
  const { index, line } = explorer.places;
  return (
    <g aria-hidden="true">
      {line.slice(first, last + 1).map((place, offset) => {
        const row = first + offset;
        return <rect key={place} class={row === index ? "hit now" : "hit"} x={0} y={row * ROW} width={layout.width} height={ROW} onClick={() => explorer.go(place)} />;
      })}
    </g>
  );
}

/** The rows in sight with which a violation begins. */
function violations(explorer: Explorer, first: number, last: number): Set<number> {
  const rows = new Set<number>();
  const properties = explorer.session?.properties.length ?? 0;
  for (let property = 0; property < properties; property += 1) {
    const strip = explorer.timeline.strip(property);
    for (let row = first; row <= last; row += 1) if (strip[row] === "v" && strip[row - 1] !== "v") rows.add(row);
  }
  return rows;
}

/** Why a message of the drawing is not enabled in the present place. */
function why(explorer: Explorer, { from, to, text, sent }: Message): void {
  const { places } = explorer;
  const flight = places.state?.flight ?? [];
  const isSame = (other: (typeof flight)[number]) =>
    other.from === from && other.to === to && other.text === text && (sent === 0 ? true : other.sent === places.line[sent]);
  const index = flight.findIndex(isSame);
  if (index >= 0) void explorer.causes.ofMessage(places.place, index, `${text}, to ${explorer.nodeName(to)}`);
  else explorer.core.say(`${text} is not in flight after step ${places.index}`);
}
