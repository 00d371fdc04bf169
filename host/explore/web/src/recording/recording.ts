// A session as recorded answers: what a bundle has instead of a server.

import type { Session, State } from "../api";

export interface Recording {
  session: Session;
  /** All places that are recorded, in the order in which they were made. */
  states: State[];
}

const ELEMENT = "recording";

/** The recording in this page, if it is a bundle. */
export function recordingOf(document: Document): Recording | null {
  const text = document.getElementById(ELEMENT)?.textContent;
  return text ? (JSON.parse(text) as Recording) : null;
}

/** The element for a page. */
export function element(recording: Recording): string {
  // Nothing in it ends the element.
  const text = JSON.stringify(recording).replaceAll("<", "\\u003c");
  return `<script type="application/json" id="${ELEMENT}">${text}</script>`;
}
