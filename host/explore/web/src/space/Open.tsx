// Messages that no step of the branch receives: a short line that ends open, and one text per row.

import { clipped } from "../plain";
import { beside, nodeX, rowY, type Layout } from "./layout";
import type { Message } from "./messages";

const TEXTS_MAX = 2;

interface Properties {
  layout: Layout;
  row: number;
  messages: Message[];
  now: number;
  names: (node: number) => string;
  onWhy: (message: Message) => void;
}

/** Equal messages of one step share a text. */
interface Group {
  message: Message;
  to: number[];
}

function groups(messages: Message[]): Group[] {
  const all: Group[] = [];
  for (const message of messages) {
    const same = all.find((group) => group.message.text === message.text && group.message.from === message.from);
    if (same) same.to.push(message.to);
    else all.push({ message, to: [message.to] });
  }
  return all;
}

export function Open({ layout, row, messages, now, names, onWhy }: Properties) {
  const all = groups(messages);
  const from = messages[0]?.from ?? 0;
  const [x, y] = [nodeX(layout, from), rowY(row)];
  const isLater = row > now;
  const shown = all.slice(0, TEXTS_MAX).map(({ message, to }) => ({ message, text: `to ${to.join(", ")}: ${message.text}` }));
  const more = all.length > TEXTS_MAX ? ` +${all.length - TEXTS_MAX}` : "";
  const spot = beside(layout, from, 20, shown.map(({ text }) => text).join("   ") + more);
  const title = all.map(({ message, to }) => `in flight to ${to.map(names).join(", ")}: ${message.text}`).join("\n");
  const way = spot.isLeft ? -1 : 1;
  const lettersEach = Math.floor((spot.letters - more.length) / shown.length) - 1;
  return (
    <g class={isLater ? "open later" : "open"}>
      <title>{title}</title>
      <path class="lost" d={`M${x} ${y} l${12 * way} 20`} />
      <circle class="open-end" cx={x + 13 * way} cy={y + 21} r={2.5} />
      <text class={`faint halo${spot.isLeft ? " left" : ""}`} x={spot.x} y={y + 25}>
        {shown.map(({ message, text }, index) => (
          <tspan
            key={index}
            class="why"
            dx={index === 0 ? 0 : 14}
            onClick={(event) => {
              event.stopPropagation();
              if (!isLater) onWhy(message);
            }}
          >
            {clipped(text, lettersEach)}
          </tspan>
        ))}
        {more}
      </text>
    </g>
  );
}
