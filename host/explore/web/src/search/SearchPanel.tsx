// A search from the present place: how, for how long, how far it is, what it found.

import { useState } from "preact/hooks";

import type { Finding } from "../api";
import type { Explorer } from "../model/explorer";
import type { Started } from "../model/searches";

const STRATEGIES = ["auto", "bdfs", "walk", "unfold", "consequence"];
const SECONDS_MAX = 3600;
const SEEDS_MAX = 100_000;

export function SearchPanel({ explorer }: { explorer: Explorer }) {
  const { session, places, searches } = explorer;
  const strategies = session?.strategies ?? STRATEGIES;
  const [strategy, setStrategy] = useState<string | null>(null);
  const [seconds, setSeconds] = useState(10);
  const [depth, setDepth] = useState("");
  const [seeds, setSeeds] = useState(100);
  const bounds = { seconds, depth: depth === "" ? null : Number(depth) };
  const start = () => void searches.start(places.place, { strategy: strategy ?? strategies[0] ?? "auto", ...bounds });
  return (
    <details class="search" open={searches.all.length > 0 || undefined}>
      <summary>Search from here</summary>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <select id="strategy" aria-label="Strategy" value={strategy ?? strategies[0]} onChange={({ currentTarget }) => setStrategy(currentTarget.value)}>
          {strategies.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <label>
          <input type="number" aria-label="Seconds" min={1} max={SECONDS_MAX} value={seconds} onInput={({ currentTarget }) => setSeconds(Number(currentTarget.value))} /> s
        </label>
        <label>
          depth <input type="number" aria-label="Depth" min={1} max={100000} placeholder="any" value={depth} onInput={({ currentTarget }) => setDepth(currentTarget.value)} />
        </label>
        <button type="submit" id="search-start">
          Search
        </button>
      </form>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void searches.start(places.place, { strategy: "walk", ...bounds, seeds });
        }}
      >
        <label>
          or <input type="number" aria-label="Seeds" min={1} max={SEEDS_MAX} value={seeds} onInput={({ currentTarget }) => setSeeds(Number(currentTarget.value))} /> random seeds:
        </label>
        <button type="submit" title="How many of them violate a property, and the shortest one">
          Try
        </button>
      </form>
      {searches.all.map((started) => (
        <Result key={started.search.search} {...{ explorer, started }} />
      ))}
    </details>
  );
}

function Result({ explorer, started }: { explorer: Explorer; started: Started }) {
  const { search, from } = started;
  const step = explorer.places.steps.get(from)?.depth ?? 0;
  const hasPromises = explorer.session?.properties.some(({ kind }) => kind === "eventually") ?? false;
  return (
    <div class={`result ${search.state}`}>
      <p role="status">
        <strong>{search.strategy}</strong> from step {step}: {search.state}
        {search.state === "running" && (
          <button type="button" class="stop" onClick={() => void explorer.searches.stop(search.search)}>
            Stop
          </button>
        )}
      </p>
      <p class="note">{search.text}</p>
      {search.state === "running" && hasPromises && (
        <p class="note promises">Violations appear as they are found. A broken promise appears once all states are explored, or at the end of a walk that breaks it: no single state shows it.</p>
      )}
      {search.seeds && <Seeds {...search.seeds} />}
      <ul>
        {search.findings.map((finding: Finding, index) => (
          <Found key={index} {...{ explorer, finding }} isViolation />
        ))}
      </ul>
      {(search.representatives?.length ?? 0) > 0 && (
        <>
          <p>Nothing is violated. Executions with different ends:</p>
          <ul>
            {search.representatives?.map((finding, index) => (
              <Found key={index} {...{ explorer, finding }} />
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** A branch that a search has found. */
function Found({ explorer, finding, isViolation = false }: { explorer: Explorer; finding: Finding; isViolation?: boolean }) {
  const { places } = explorer;
  const { text, place, line, seeds } = finding;
  return (
    <li>
      <button type="button" class={`choice ${isViolation ? "finding" : "end"}`} aria-current={places.place === place ? "true" : undefined} onClick={() => explorer.found(finding)}>
        <code>{text}</code>
        <span class="note">
          {line.length - 1} steps{seeds != null && `, shortest of ${seeds} ${seeds === 1 ? "seed" : "seeds"}`}
        </span>
      </button>
    </li>
  );
}

function Seeds({ asked, done, violating }: { asked: number; done: number; violating: number }) {
  return (
    <p class="seeds">
      <progress max={asked} value={done} aria-label="Seeds tried" /> <strong class={violating > 0 ? "violated" : ""}>{violating}</strong> of {done}
      {done < asked && ` (${asked} asked for)`} violate a property
    </p>
  );
}
