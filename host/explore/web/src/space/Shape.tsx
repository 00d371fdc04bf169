// The sign of an event, by its kind.

import type { Event } from "../api";

interface Properties {
  kind: Event["kind"];
  node: number;
  x: number;
  y: number;
}

export const COLOURS = 8;

export function Shape({ kind, node, x, y }: Properties) {
  const fill = `f${node % COLOURS}`;
  switch (kind) {
    case "local":
      return <rect class={fill} x={x - 5.5} y={y - 5.5} width={11} height={11} />;
    case "timer":
      return <path class={fill} d={`M${x} ${y - 7} l7 12 h-14 z`} />;
    case "quorum":
      return (
        <>
          <circle class={`ring s${node % COLOURS}`} cx={x} cy={y} r={8.5} />
          <circle class={fill} cx={x} cy={y} r={4.5} />
        </>
      );
    case "fault":
      return <path class="fault" d={`M${x} ${y - 8} l8 8 l-8 8 l-8 -8 z`} />;
    case "lose":
      return <path class="fault-line" d={`M${x - 5} ${y - 5} l10 10 m0 -10 l-10 10`} />;
    default:
      return <circle class={fill} cx={x} cy={y} r={6} />;
  }
}

export const KINDS: { kind: Event["kind"]; text: string }[] = [
  { kind: "deliver", text: "a message received" },
  { kind: "quorum", text: "a quorum received" },
  { kind: "local", text: "a local event" },
  { kind: "timer", text: "a timer" },
  { kind: "fault", text: "a fault" },
  { kind: "lose", text: "a message lost" },
];
