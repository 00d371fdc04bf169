// All steps as a list, on paper only.

import type { Explorer } from "../model/explorer";

export function Printed({ explorer }: { explorer: Explorer }) {
  const { places, marks } = explorer;
  return (
    <section class="printed" aria-label="Steps">
      {explorer.session?.verdict?.slice(1).map((line, index) => (
        <p key={index}>
          <code>{line}</code>
        </p>
      ))}
      <h2>Steps</h2>
      <ol start={0}>
        {places.line.map((place) => {
          const step = places.steps.get(place);
          return (
            <li key={place}>
              {marks.of(place, "before").map(({ text }) => (
                <p key={text} class="note">
                  {text}
                </p>
              ))}
              <code class={marks.of(place, "ring").length > 0 ? "bad" : ""}>{step?.event?.text ?? "start"}</code>
              {marks.of(place, "critical").length > 0 && <strong> critical step</strong>}
              {step?.lines?.map((line, index) => (
                <p key={index} class="note">
                  {line}
                </p>
              ))}
              {marks.of(place, "after").map(({ text }) => (
                <p key={text} class="note">
                  {text}
                </p>
              ))}
            </li>
          );
        })}
      </ol>
    </section>
  );
}
