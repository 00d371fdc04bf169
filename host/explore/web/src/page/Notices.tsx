// Errors and news as lines at the top of the page.

import type { Explorer } from "../model/explorer";

export function Notices({ explorer }: { explorer: Explorer }) {
  const { core } = explorer;
  return (
    <div class="notices" aria-live="assertive">
      {core.isEnded && (
        <p class="notice error ended" role="alert">
          <strong>host explore has ended, or the connection is lost; what you saved is there.</strong> The page shows what it has, and asks again until there is an answer.
        </p>
      )}
      {core.isSlow && (
        <p class="notice slow" role="status">
          host explore has not answered for some seconds: it computes, or is suspended. What the page shows is the last answer.
        </p>
      )}
      {core.notices.map(({ id, text, help, isError, count }) => (
        <p key={id} class={isError ? "notice error" : "notice"} role={isError ? "alert" : "status"}>
          <span>
            {text}
            {count > 1 && ` (${count} times)`}
            {help !== null && <span class="help-text">{help}</span>}
          </span>
          <button type="button" class="tiny" aria-label="Close this line" onClick={() => core.dismiss(id)}>
            ×
          </button>
        </p>
      ))}
    </div>
  );
}
