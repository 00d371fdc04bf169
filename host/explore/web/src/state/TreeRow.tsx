// A row of a state tree with its change.

import type { ComponentChildren } from "preact";

import type { Row } from "../api";

const SIGNS: Record<Row["mark"], string> = { same: "", changed: "~", new: "+", gone: "-" };
const WORDS: Record<Row["mark"], string> = { same: "", changed: "changed: ", new: "new: ", gone: "gone: " };

interface Properties {
  row: Row;
  toggle?: ComponentChildren;
  /** The violated properties that read the field. */
  readBy?: string[];
  onWriter?: () => void;
}

export function TreeRow({ row, toggle, readBy = [], onWriter }: Properties) {
  const { mark, name, value, old, depth } = row;
  const isChange = mark === "changed" && old !== null;
  return (
    <div class={`tree-row ${mark}${readBy.length > 0 ? " read" : ""}`} style={{ "--depth": depth }}>
      {toggle}
      <span class="sign" aria-hidden="true">
        {SIGNS[mark]}
      </span>
      {WORDS[mark] && <span class="only-read">{WORDS[mark]}</span>}
      {name !== "" &&
        (onWriter ? (
          <button type="button" class={`field ${mark}`} title="Which step wrote it last?" onClick={onWriter}>
            {name}:
          </button>
        ) : (
          <span class={`field ${mark}`}>{broken(name)}:</span>
        ))}
      {readBy.length > 0 && (
        <abbr class="reader" title={`Read by ${readBy.join(", ")}, which does not hold`}>
          R
        </abbr>
      )}
      {isChange && (
        <>
          <del>{old}</del>
          <span class="arrow">→</span>
        </>
      )}
      {value !== "" && (isChange ? <ins>{value}</ins> : <span>{value}</span>)}
    </div>
  );
}

/** A path may break behind its dots. */
function broken(name: string): ComponentChildren {
  return name.split(".").map((part, index) => (
    <>
      {index > 0 && "."}
      {index > 0 && <wbr />}
      {part}
    </>
  ));
}
