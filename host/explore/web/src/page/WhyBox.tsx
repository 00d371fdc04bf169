// The answer to "why", with the steps that it speaks of.

import { useState } from "preact/hooks";

import type { Explorer } from "../model/explorer";

export function WhyBox({ explorer }: { explorer: Explorer }) {
  const { answer } = explorer.causes;
  if (!answer) return null;
  return (
    <section class="why-box" role="status" aria-label="Why">
      <p>
        <strong>{answer.question}</strong>
        <button type="button" class="tiny" aria-label="Close the answer" onClick={() => explorer.causes.clear()}>
          ×
        </button>
      </p>
      <p class="text">{answer.why.text}</p>
      {answer.why.places.length > 0 && (
        <p class="chain">
          {answer.why.places.map((place) => {
            const step = explorer.places.steps.get(place);
            return (
              <button key={place} type="button" class="link" onClick={() => explorer.go(place)}>
                step {step?.depth ?? "?"}: <code>{step?.event?.text ?? "start"}</code>
              </button>
            );
          })}
        </p>
      )}
    </section>
  );
}

/** A question about an event that is not enabled. */
export function WhyForm({ explorer }: { explorer: Explorer }) {
  const [words, setWords] = useState("");
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (words.trim() !== "") void explorer.causes.ofEvent(explorer.places.place, words.trim());
      }}
    >
      <input
        id="why"
        aria-label="Why is an event not enabled? Words of the event"
        placeholder="Why not: words of an event"
        value={words}
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
      />
      <button type="submit">Why</button>
    </form>
  );
}
