// A search from the present place: how, for how long, how far it is, what it found.

import { useState } from "preact/hooks";

import type { Explorer } from "../model/explorer";
import type { Started } from "../model/searches";

const STRATEGIES = ["auto", "bdfs", "walk", "unfold", "consequence"];
const SECONDS_MAX = 3600;

export function SearchPanel({ explorer }: { explorer: Explorer }) {
  const { session, places, searches } = explorer;
  const strategies = session?.strategies ?? STRATEGIES;
  const [strategy, setStrategy] = useState<string | null>(null);
  const [seconds, setSeconds] = useState(10);
  const [depth, setDepth] = useState("");
  const start = () => {
    const wish = { strategy: strategy ?? strategies[0] ?? "auto", seconds, depth: depth === "" ? null : Number(depth) };
    void searches.start(places.place, wish);
  };
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
        <button type="submit">Search</button>
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
      <ul>
        {search.findings.map(({ text, place, line }, index) => (
          <li key={index}>
            <button
              type="button"
              class="choice finding"
              onClick={() => void explorer.core.attempt(() => explorer.places.arrive({ place, line }))}
            >
              <code>{text}</code>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
