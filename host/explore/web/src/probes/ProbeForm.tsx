// An expression becomes a column next to the steps.

import { useState } from "preact/hooks";

import type { Explorer } from "../model/explorer";

export function ProbeForm({ explorer }: { explorer: Explorer }) {
  const [expression, setExpression] = useState("");
  return (
    <form
      class="row probe-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (expression.trim() === "") return;
        void explorer.probes.add(expression.trim()).then((isAdded) => isAdded && setExpression(""));
      }}
    >
      <input
        id="probe"
        aria-label="Probe: an expression over the states, as of --always"
        placeholder="Probe: an expression"
        spellcheck={false}
        value={expression}
        onInput={({ currentTarget }) => setExpression(currentTarget.value)}
      />
      <button type="submit">Add</button>
    </form>
  );
}
