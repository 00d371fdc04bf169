// Title, and what is done with the whole: undo, links, files, help.

import { useRef } from "preact/hooks";

import { address, isRecorded } from "../client";
import type { Explorer } from "../model/explorer";
import { toSearch } from "./keys";

export function Header({ explorer }: { explorer: Explorer }) {
  const { session, places, files, core } = explorer;
  return (
    <header>
      <h1>{session?.title ?? "host explore"}</h1>
      {isRecorded && <span class="note">a recording</span>}
      {session && !session.title.startsWith(session.plugin.reference) && (
        <span class="note plugin" title={session.plugin.digest}>
          {session.plugin.reference}
        </span>
      )}
      <span class="busy" role="status">
        {core.pending > 0 ? "…" : ""}
      </span>
      <div class="tools" role="toolbar" aria-label="Tools">
        <button type="button" disabled={!places.canUndo} title="Undo the last move (u)" onClick={() => explorer.undo()}>
          Undo
        </button>
        <button type="button" disabled={!places.canRedo} title="Redo (U)" onClick={() => explorer.redo()}>
          Redo
        </button>
        {!isRecorded && (
          <button type="button" title="Search from this step: by a strategy, or by random seeds (/)" onClick={toSearch}>
            Search
          </button>
        )}
        <button type="button" title="Copy a link to this step (l)" onClick={() => void files.copyLink()}>
          Copy link
        </button>
        {!isRecorded && <Traces {...{ explorer }} />}
        <button type="button" title="Keys and signs (?)" onClick={() => openHelp(explorer)}>
          ?
        </button>
      </div>
    </header>
  );
}

/** Traces and bundles, which need the server. */
function Traces({ explorer }: { explorer: Explorer }) {
  const { places, files } = explorer;
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" title="Write the steps to a file: a trace or a scenario (s)" onClick={() => openSave(explorer)}>
        Save
      </button>
      <a class="button" href={address(`places/${places.place}/trace`)} download="trace.json" title="The trace of the steps to the present one, as a download of the browser">
        Download
      </a>
      <button type="button" title="Open a trace; a file can be dropped, too (o)" id="open-trace" onClick={() => picker.current?.click()}>
        Open trace
      </button>
      <input
        ref={picker}
        type="file"
        accept=".json,application/json"
        hidden
        aria-label="A trace"
        onChange={({ currentTarget }) => {
          const file = currentTarget.files?.[0];
          if (file) void files.open(file);
          currentTarget.value = "";
        }}
      />
      <button type="button" title="One HTML file of the steps, which opens without a server (b)" onClick={() => explorer.bundle()}>
        Bundle
      </button>
    </>
  );
}

export function openSave(explorer: Explorer): void {
  explorer.isSaveShown = true;
  explorer.core.changed();
}

export function openHelp(explorer: Explorer): void {
  explorer.isHelpShown = true;
  explorer.core.changed();
}
