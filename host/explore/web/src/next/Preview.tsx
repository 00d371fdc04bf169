// What the event that a person points at would change. Nothing moves.

import type { Standing } from "../api";
import { isRecorded } from "../client";
import type { Explorer } from "../model/explorer";
import { classOf } from "../standings";
import { leaves } from "../state/rows";
import { TreeRow } from "../state/TreeRow";

const ROWS_MAX = 40;
const SENT_MAX = 20;

export function Preview({ explorer }: { explorer: Explorer }) {
  const { pointed, preview } = explorer.choice;
  if (!pointed) {
    return (
      <section class="preview" aria-label="Preview">
        <p class="note">{isRecorded ? "Recorded steps can be taken again. host explore with the trace takes any event." : "Point at an event to see what it changes; click it to take it."}</p>
      </section>
    );
  }
  return (
    <section class="preview" aria-label="Preview" aria-live="polite">
      <h3>
        If taken: <code>{pointed.enabled.text}</code>
      </h3>
      {preview ? <Changes {...{ explorer }} /> : <p class="note">…</p>}
    </section>
  );
}

function Changes({ explorer }: { explorer: Explorer }) {
  const { preview } = explorer.choice;
  const state = explorer.places.shown;
  if (!preview || !state) return null;
  const rows = leaves(preview.rows);
  const news = preview.standings.filter((standing) => isNews(state.standings, standing));
  return (
    <>
      {news.map((standing, index) => (
        <p key={index} class={`standing ${classOf(standing.standing)}`}>
          {propertyName(explorer, standing)}: {standing.standing}
          {standing.why && `, ${standing.why}`}
        </p>
      ))}
      {rows.slice(0, ROWS_MAX).map((row, index) => (
        <TreeRow key={index} row={row} />
      ))}
      {rows.length > ROWS_MAX && <p class="note">{rows.length - ROWS_MAX} more rows</p>}
      {rows.length === 0 && <p class="note">The state of {explorer.nodeName(preview.node)} stays the same.</p>}
      {preview.sent.slice(0, SENT_MAX).map(({ to, text }, index) => (
        <p key={index} class="sends">
          sends to {explorer.nodeName(to)}: <code>{text}</code>
        </p>
      ))}
      {preview.sent.length > SENT_MAX && <p class="note">{preview.sent.length - SENT_MAX} more messages</p>}
    </>
  );
}

function isNews(present: Standing[], { property, node, standing }: Standing): boolean {
  const before = present.find((other) => other.property === property && other.node === node);
  return before?.standing !== standing;
}

function propertyName(explorer: Explorer, { property, node }: Standing): string {
  const name = explorer.session?.properties[property]?.name ?? `property ${property}`;
  return node === null ? name : `${name} of ${explorer.nodeName(node)}`;
}
