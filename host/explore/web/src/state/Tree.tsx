// The state of one node as a tree, whose rows open and close.

import { useState } from "preact/hooks";

import type { Explorer } from "../model/explorer";
import { COLOURS } from "../space/Shape";
import type { Tree as Compared } from "./against";
import { changed, open, path, within } from "./rows";
import { readBy } from "./reads";
import { TreeRow } from "./TreeRow";

const ROWS_MAX = 300;

interface Properties {
  explorer: Explorer;
  node: number;
  tree: Compared | null;
  isChangesOnly: boolean;
  isFront: boolean;
}

export function Tree({ explorer, node, tree, isChangesOnly, isFront }: Properties) {
  const [closed, setClosed] = useState(new Set<string>());
  const [isShut, setShut] = useState(false);
  const [rowsMax, setRowsMax] = useState(ROWS_MAX);
  const rows = tree ? (isChangesOnly ? changed(tree.rows) : tree.rows) : [];
  const shown = isShut ? [] : open(rows, closed);
  const standings = explorer.places.shown?.standings ?? [];
  const toggle = (key: string) => {
    const next = new Set(closed);
    if (!next.delete(key)) next.add(key);
    setClosed(next);
  };
  const changes = tree?.rows.filter(({ mark }) => mark !== "same").length ?? 0;
  return (
    <div class={isFront ? "tree front" : "tree"}>
      <h3>
        <button type="button" class={`shut c${node % COLOURS}`} aria-expanded={!isShut} onClick={() => setShut(!isShut)}>
          <span aria-hidden="true">{isShut ? "▸" : "▾"}</span> {explorer.nodeName(node)}
        </button>
        <span class="note">
          {tree?.since} {changes > 0 && `${changes} changed`}
        </span>
      </h3>
      {tree?.stuck && <p class="standing violated">{tree.stuck}</p>}
      {!tree && <p class="note">…</p>}
      {shown.slice(0, rowsMax).map(({ row, index, isParent }) => {
        const key = path(rows, index);
        return (
          <TreeRow
            key={index}
            row={row}
            readBy={readBy(explorer.session, standings, node, () => within(rows, key))}
            onWriter={() => void explorer.causes.ofField(explorer.places.place, node, explorer.nodeName(node), key)}
            toggle={isParent && <Toggle name={key} isOpen={!closed.has(key)} onToggle={() => toggle(key)} />}
          />
        );
      })}
      {shown.length > rowsMax && (
        <button type="button" class="quiet" onClick={() => setRowsMax(rowsMax * 4)}>
          {shown.length - rowsMax} more rows
        </button>
      )}
      {tree && !isShut && isChangesOnly && rows.length === 0 && <p class="note">no change</p>}
    </div>
  );
}

function Toggle({ name, isOpen, onToggle }: { name: string; isOpen: boolean; onToggle: () => void }) {
  return (
    <button type="button" class="toggle" aria-label={`${isOpen ? "Close" : "Open"} ${name}`} aria-expanded={isOpen} onClick={onToggle}>
      {isOpen ? "▾" : "▸"}
    </button>
  );
}
